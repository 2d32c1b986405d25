/** What a request line asks for (RFC 9112, section 3.2). */
export interface RequestTarget {
  /** As the client wrote it, without the query; `*` for the server as a whole. */
  readonly path: string
  /** Path and query. */
  readonly url: string
  /** The host of the absolute form, `http://localhost/mcp`. It counts like the Host header. */
  readonly authority?: string
}

const absolute = /^https?:\/\/([^/?#]*)(.*)/i

/**
 * What a URL parser or the router rewrites: the segments `.` and `..`, a backslash, a fragment, and
 * percent-encoded letters, digits and `-._~`, which never need it (RFC 3986, section 2.3). A path
 * has one spelling here, so that rules of a proxy and routes of this server see the same.
 */
const rewritten = /\/\.{1,2}(?:\/|$)|[\\#]|%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/i

/** Null for a form that no request to this server has. */
export function parseTarget(written: string): RequestTarget | null {
  if (written.startsWith('/') || written === '*') return plainTarget(written)
  const [, authority, rest = ''] = absolute.exec(written) ?? []
  if (authority === undefined) return null
  const target = plainTarget(rest.startsWith('/') ? rest : `/${rest}`)
  return target === null ? null : { ...target, authority }
}

function plainTarget(url: string): RequestTarget | null {
  const path = pathOf(url)
  return rewritten.test(path) ? null : { path, url }
}

function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}
