'use strict';
/* A service worker and a shared worker in one: each says, when it is asked, what it is and how often it has been asked. */
(() => {
  let asked = 0;
  const answer = (port) => port.postMessage({ kind: self.constructor.name, asked: (asked += 1) });

  // A service worker is given the port to answer to, a shared worker is connected to one.
  self.addEventListener('message', (event) => answer(event.ports[0]));
  self.addEventListener('connect', (event) => {
    const [port] = event.ports;
    port.onmessage = () => answer(port);
  });
})();
