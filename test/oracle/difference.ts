import { differing, type Field, type Observation } from './answers.ts'

/** What a field must be: a value, or a form that its text must have. */
type Expected = { readonly [Name in Field]?: Observation[Name] | RegExp }

/**
 * Why the product answers otherwise than the official SDK. M is the Model Context Protocol at the
 * revision named, D a decision of this project.
 */
export const reasons = {
  'sdk-accept': 'RFC 9110, 12.5.1',
  'sdk-accept-zero': 'RFC 9110, 12.4.2',
  'sdk-delete': 'RFC 9110, 9.3.5; M 2025-11-25 names no status',
  'sdk-second-stream':
    'D: a client that lost its connection is not locked out until that is noticed; M 2025-11-25 leaves it open',
  'sdk-origin': 'M 2025-11-25: present and invalid is 403',
  'sdk-host-form': 'RFC 9112, 3.2',
  'sdk-unpublished-revision': 'M all: no revision has that date',
  'sdk-not-utf-eight': 'M 2025-11-25, "Transports"; RFC 8259, 8.1',
  'sdk-depth': 'D; RFC 8259, 9 allows a bound',
  'sdk-body-size': 'D; RFC 9110, 15.5.14',
  'sdk-refused-id': 'M 2025-11-25, "Responses": the same id',
  'sdk-bad-id': 'M all: an id is a text or an integer',
  'sdk-unknown-members': 'D; JSON-RPC 2.0 forbids none',
  'sdk-unused-meta': 'D; M all binds the sender of a token',
  'sdk-responses': 'D; M all: a response answers a request, and the server sends none',
  'sdk-batch-revisions': 'M 2025-03-26 introduced batches, M 2025-06-18 removed them',
  'sdk-batch-array': 'JSON-RPC 2.0, 6',
  'sdk-batch-elements': 'JSON-RPC 2.0, 6',
  'sdk-batch-initialize': 'M 2025-03-26, "Lifecycle"',
  'sdk-session-first': 'D; M 2025-03-26 sets no order',
  'sdk-initialize-missing': 'D; M all binds the client',
  'sdk-initialize-malformed': 'JSON-RPC 2.0, 5.1',
  'sdk-initialize-notification': 'M all: it is a request',
  'sdk-initialize-dead-session': 'M 2025-11-25: 404 MUST',
  'sdk-null-id': 'M 2026-07-28, JSONRPCErrorResponse: absent or an id',
  'sdk-refused-code': 'M 2026-07-28, "Error Codes": −32000 to −32019 should not be used',
  'sdk-stateless-batch': 'M 2026-07-28: one message in a POST',
  'sdk-malformed-meta': 'M 2026-07-28: malformed is −32602',
  'sdk-not-found': 'M 2025-11-25, "Resources" (2026-07-28: −32602 on both)',
  'sdk-malformed-uri': 'M 2026-07-28 has data.uri for what is not found',
  'sdk-params': 'JSON-RPC 2.0, 5.1',
  'sdk-empty-params': 'D: several clients send them; an array is allowed by JSON-RPC 2.0, 4.2',
  'sdk-cursor': 'M all, "Pagination"',
  'sdk-tool-changes': 'M 2026-07-28: only honoured types are acknowledged',
  'sdk-listen-uri': 'D, as when reading it; M 2026-07-28 leaves it open',
  'sdk-listen-list': 'D; M 2026-07-28: the part that is honoured',
}

/** One way in which the product answers otherwise than the official SDK, on purpose. */
export interface Difference {
  readonly anchor: keyof typeof reasons
  /** Names of the requests it is about. */
  readonly requests: RegExp
  readonly ours: Expected
  readonly theirs: Expected
}

/** Does the row say of this request exactly how the two answers differ? */
export function explains(
  { requests, ours, theirs }: Difference,
  name: string,
  seen: { readonly ours: Observation; readonly theirs: Observation },
): boolean {
  if (!requests.test(name) || !fits(ours, seen.ours) || !fits(theirs, seen.theirs)) return false
  return differing(seen.ours, seen.theirs).every(field => field in ours && field in theirs)
}

function fits(expected: Expected, seen: Observation): boolean {
  return (Object.keys(expected) as Field[]).every(field => {
    const wanted = expected[field]
    return wanted instanceof RegExp ? wanted.test(String(seen[field])) : wanted === seen[field]
  })
}

const any = /(?:)/

/** A result, whatever is in it. */
export const served: Expected = {
  status: 200,
  type: 'application/json',
  message: 'result',
  code: null,
  id: /^[^n]/,
  members: any,
  value: any,
  session: any,
}

/** An error, in an answer of that status. */
export function refused(status: number, code: number, id: string | RegExp = 'null'): Expected {
  return {
    status,
    type: 'application/json',
    message: 'error',
    code: String(code),
    id,
    members: null,
    value: null,
    session: false,
  }
}

/** An error inside the answer to a request. */
export function failed(code: number): Expected {
  return { ...refused(200, code, '1'), members: any, value: any }
}

/** A notification or response that was taken. */
export const taken: Expected = { status: 202, type: null, message: 'none', code: null, id: null }

/** An event stream that nothing came over yet. */
export const streaming: Expected = {
  status: 200,
  type: 'text/event-stream',
  message: 'none',
  code: null,
  id: null,
}

/** The stream of a `subscriptions/listen` that was taken. */
export const acknowledged: Expected = {
  status: 200,
  type: 'text/event-stream',
  message: 'notifications/subscriptions/acknowledged',
  code: null,
  id: null,
  members: null,
  value: any,
}
