import { McpError } from './carrier.ts'

let clockSkewMs = 0

/** How far the clock of the server is ahead of the browser's, when that is more than its `Date` can be off. */
export function clockAheadMs(): number {
  return Math.abs(clockSkewMs) > 2000 ? clockSkewMs : 0
}

/**
 * `fetch` of the page's own server, with the header without which a cookie does not count. Throws
 * `McpError` when the server refuses, `Error` when it cannot be reached.
 */
export async function request(
  path: string,
  options: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> },
): Promise<Response> {
  const headers = { ...options.headers, 'Service-Page': '1' }
  const response = await fetch(path, { ...options, headers, cache: 'no-store' }).catch(() => {
    throw new Error('the server cannot be reached')
  })
  const date = Date.parse(response.headers.get('Date') ?? '')
  if (!Number.isNaN(date)) clockSkewMs = date - Date.now()
  if (!response.ok) throw await refusalOf(response)
  return response
}

/** What a server says of a refusal: a JSON-RPC error, an OAuth error, or problem details. */
async function refusalOf(response: Response): Promise<McpError> {
  const body: unknown = await response.json().catch(() => null)
  const { error, error_description, detail } = (body ?? {}) as Record<string, unknown>
  const { message } = (error ?? {}) as { message?: unknown }
  const text = [message, error_description, detail].find(each => typeof each === 'string')
  return new McpError(text ?? `the server answered ${response.status}`, response.status)
}
