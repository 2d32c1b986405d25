/** What a request line asks for (RFC 9112, section 3.2). */
export interface RequestTarget {
  /** As the client wrote it, without the query; `*` for the server as a whole. */
  readonly path: string
  /** Path and query. */
  readonly url: string
  /** Of the absolute form, `http://localhost/mcp`: it names the host, as the Host header does. */
  readonly authority?: string
}

const absolute = /^https?:\/\/([^/?#]*)([^#]*)/i

/** Null for a form that no request to this server has. */
export function parseTarget(written: string): RequestTarget | null {
  if (written.startsWith('/') || written === '*') return { path: pathOf(written), url: written }
  const [, authority, rest = ''] = absolute.exec(written) ?? []
  if (authority === undefined) return null
  const url = rest.startsWith('/') ? rest : `/${rest}`
  return { path: pathOf(url), url, authority }
}

function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}
