/** What the server says of itself in every era. */
export interface ServerIdentity {
  readonly name: string
  readonly title: string
  readonly version: string
  /** How a model finds its way about the resources; may be another text at each look. */
  readonly instructions: string
}
