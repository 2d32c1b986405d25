/**
 * Schemes that belong to the product: no custom producer may take one, no host push them. `notes` is
 * taken only where notes are kept: a library without them may serve its own.
 */
export const reservedSchemes: ReadonlySet<string> = new Set([
  'scene',
  'capture',
  'audit',
  'artefact',
  'events',
  'gateway',
  'resources',
  'server',
  'ui',
  'instance',
])

/** Read by polling: subscribing is accepted, no update ever comes (specification, "Events"). */
export const polledSchemes: ReadonlySet<string> = new Set([
  'events',
  'artefact',
  'capture',
  'resources',
])
