import type { Viewer } from '../http/authentication.ts'

/** What is known of one request beyond its bytes; the endpoint adds what was asked, for the access log. */
export class RequestContext {
  isLogged = true
  /** Without the query; empty until it is known. */
  path = ''
  principal = 'anonymous'
  /** False: the caller may not drain events. */
  mayWrite = true
  mayAnswer = true
  /** Undefined: the caller sees everything. */
  viewer: Viewer | undefined = undefined
  /** Called when the response has closed. */
  readonly onClose: (() => void)[] = []
  rpc: string | undefined = undefined
  /** The resource that the call is about, as the client wrote it. */
  uri: unknown = undefined
  /** Address of the client. */
  readonly peer: string

  constructor(peer: string) {
    this.peer = peer
  }
}
