/** What the server says of itself in every era. */
export interface ServerIdentity {
  readonly name: string
  readonly title: string
  readonly version: string
  /** How a model finds its way about the resources. */
  readonly instructions: string
}

export const applicationInstructions =
  'Live state of an application as resources. Read scene://current for the scene, ' +
  'scene://delta for what changed last, audit://recent for what was done. Subscribe to be told ' +
  'of changes, then read again: an update carries only the URI.'
