import type { WebContents } from 'electron';

/**
 * What an app has from focusguard's companion. Without a guard around the app all of it is there and does nothing:
 * no callback is called, and no input is an agent's.
 */

declare namespace bridge {
  export interface Bridge {
    /** In a handler of a key or a pointer: whether what is being handled is an agent's. */
    readonly isAgentInput: (page: WebContents | null | undefined) => boolean;

    /**
     * Which pages agents may see and drive. `undefined` leaves it to the default: webviews, views in a window that has a
     * page of its own, and offscreen windows. Asked when a page comes, navigates or loads, and by `reconsider()`. A page
     * that becomes `false` is gone for every client, and what they held down in it goes up. What it throws counts as
     * `undefined`.
     */
    isGuest: ((page: WebContents) => boolean | undefined) | null;
    /** Have `isGuest` asked again for every page. */
    readonly reconsider: () => void;

    /** Opens a page for an agent (CDP's `Target.createTarget`), in ten seconds at most. */
    onOpenGuest: ((url: string) => WebContents | Promise<WebContents | void> | void) | null;
    /** Closes a page that an agent asked to close, in ten seconds at most. */
    onCloseGuest: ((page: WebContents) => void | Promise<void>) | null;
    /** Brings a discarded page back to life, without giving it the focus, in ten seconds at most. */
    onWakeGuest: ((page: WebContents) => void | Promise<void>) | null;

    /**
     * For a sign to the person: `true` when an agent begins to press or type in a page, `false` when it has not done so
     * for a second, or the guard or the page has gone. What it throws is passed over.
     */
    onAgentActing: ((page: WebContents, acting: boolean) => void) | null;

    /** The version of the protocol that the companion and the guard speak. */
    readonly version: number;
  }
}

declare const bridge: bridge.Bridge;
export = bridge;
