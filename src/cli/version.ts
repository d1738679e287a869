declare const SKILLBOX_VERSION: string | undefined;

/** Whether this is what the build made, or the sources themselves. */
export const BUNDLED = typeof SKILLBOX_VERSION !== 'undefined';

/** Put in by the build; the sources themselves have none. */
export const VERSION = typeof SKILLBOX_VERSION === 'undefined' ? '0.0.0-dev' : SKILLBOX_VERSION;

declare const SKILLBOX_BUILD: string | undefined;

/** Another one for other programs beside the entry. */
export const BUILD = typeof SKILLBOX_BUILD === 'string' ? SKILLBOX_BUILD : 'source';
