'use strict';
/* The guest pages' own behaviour. One script for the page and its frames; a frame has fewer of the elements. */
(() => {
  const query = new URLSearchParams(location.search);
  const byId = (id) => document.getElementById(id);
  const on = (id, type, act) => {
    if (byId(id)) byId(id).addEventListener(type, act);
  };

  const frameUrl = (origin, frame) => {
    const passed = new URLSearchParams({ frame, guest: query.get('guest') || '0', nested: query.get('nested') || '' });
    return `${origin}/guest/frame.html?${passed}`;
  };
  const sameSite = byId('same-site');
  if (sameSite) sameSite.src = frameUrl(location.origin, 'same-site');
  const crossSite = byId('cross-site');
  if (crossSite && query.get('cross')) crossSite.src = frameUrl(query.get('cross'), 'cross-site');
  if (query.get('frame') === 'cross-site') {
    const nested = document.createElement('iframe');
    nested.id = 'nested';
    nested.dataset.frame = 'nested';
    nested.src = frameUrl(query.get('nested'), 'nested');
    document.body.appendChild(nested);
  }

  const counters = {};
  const count = (name) => {
    counters[name] = (counters[name] || 0) + 1;
  };
  let dropped = [];
  on('button', 'click', () => count('button'));
  on('button', 'dblclick', () => count('button-double'));
  on('link', 'click', () => count('link'));
  on('file', 'click', () => count('file'));
  on('checkbox', 'change', () => count('checkbox'));
  on('select', 'change', () => count('select'));

  // -- drag and drop --
  on('draggable', 'dragstart', (event) => {
    count('dragstart');
    event.dataTransfer.setData('text/plain', 'dragged');
  });
  on('draggable', 'dragend', () => count('dragend'));
  on('drop-zone', 'dragover', (event) => {
    count('dragover');
    event.preventDefault();
  });
  on('drop-zone', 'drop', (event) => {
    event.preventDefault();
    count('drop');
    dropped.push(event.dataTransfer.getData('text/plain'));
  });

  // -- a combobox made of ordinary elements, which closes as soon as it loses the focus --
  const list = byId('combobox-list');
  const box = byId('combobox');
  const open = (shown) => {
    if (!list || list.hidden === !shown) return;
    list.hidden = !shown;
    box.setAttribute('aria-expanded', String(shown));
    count(shown ? 'combobox-open' : 'combobox-close');
  };
  on('combobox', 'mousedown', () => open(true));
  on('combobox', 'keydown', (event) => {
    if (event.key === 'ArrowDown') open(true);
    if (event.key === 'Escape') open(false);
  });
  on('combobox', 'blur', () => open(false));
  if (list) {
    // Choosing keeps the focus in the field: otherwise the blur would close the list before the click.
    list.addEventListener('mousedown', (event) => event.preventDefault());
    list.addEventListener('click', (event) => {
      box.value = event.target.textContent.trim();
      count('combobox-choose');
      open(false);
    });
  }

  window.fixturePage = {
    reset() {
      open(false);
      for (const element of document.querySelectorAll('select')) element.blur();
      if (location.hash) history.replaceState(null, '', location.pathname + location.search);
      return true;
    },
    begin() {
      for (const name of Object.keys(counters)) delete counters[name];
      dropped = [];
      return true;
    },
    snapshot() {
      return {
        counters,
        dropped,
        comboboxOpen: Boolean(list && !list.hidden),
        hasFocus: document.hasFocus(),
        active: document.activeElement ? document.activeElement.id || document.activeElement.tagName.toLowerCase() : null,
      };
    },
  };
})();
