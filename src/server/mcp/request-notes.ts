/** What is known of a request beyond its bytes; the endpoint notes what it did, for the access log. */
export interface RequestNotes {
  readonly principal: string
  /** False: the caller may only read. */
  readonly mayWrite: boolean
  rpc: string | undefined
  /** The resource that the call is about, as the client wrote it. */
  uri: unknown
}
