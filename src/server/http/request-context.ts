import type { Viewer } from './authentication.ts'

/** What is known of one request beyond its bytes; handlers add what was asked, for the access log. */
export class RequestContext {
  /** Address of the client; that of the proxy's client behind a trusted proxy. */
  readonly peer: string
  /** As the client wrote it, without the query. */
  readonly path: string
  /** Empty until the caller is let in. */
  principal = ''
  /** False: the caller may not drain events. */
  mayWrite = true
  mayAnswer = true
  /** Undefined: the caller sees everything. */
  viewer: Viewer | undefined = undefined
  rpc: string | undefined = undefined
  /** The resource that the call is about, as the client wrote it. */
  uri: unknown = undefined
  /** The pattern of the path, where the metrics need it. */
  route: string | undefined = undefined
  /** Called when the response has closed. */
  readonly onClose: (() => void)[] = []

  constructor(peer: string, path = '') {
    this.peer = peer
    this.path = path
  }
}
