/** Schemes that belong to the product: no custom producer may take one, no host push them. */
const reservedSchemes: ReadonlySet<string> = new Set([
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
const polledSchemes: ReadonlySet<string> = new Set(['events', 'artefact', 'capture', 'resources'])

export function isReservedScheme(scheme: string): boolean {
  return reservedSchemes.has(scheme)
}

export function isPolledScheme(scheme: string): boolean {
  return polledSchemes.has(scheme)
}

/** Whether the URI is made from the bytes behind it, which then never change. */
export function isContentAddressed(uri: unknown): boolean {
  return typeof uri === 'string' && uri.startsWith('artefact://')
}
