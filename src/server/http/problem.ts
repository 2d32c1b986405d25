import { type IncomingMessage, STATUS_CODES, type ServerResponse } from 'node:http'
import { errorTable, isPrivate, publicMessage, ServiceError } from '../../lib/util/errors.ts'

/** RFC 9457, with the kebab-case `code` for programs and the `hint` for people. */
export interface Problem {
  /** `urn:service:problem:<code>` */
  readonly type: string
  /** The phrase of the status. */
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  readonly hint?: string
  /** Public facts of the error, for example `errors: [{ pointer, detail }]`. */
  readonly [member: string]: unknown
}

/** What a client may know of an error. Anything but a `ServiceError` says nothing of itself. */
export function toProblem(error: unknown): Problem {
  if (!(error instanceof ServiceError)) return toProblem(new ServiceError('internal', 'internal'))
  const { code, data, hint } = error
  const { status = 500 } = errorTable[code]
  const problem = makeProblem(status, code.replaceAll('_', '-'), publicMessage(error))
  return isPrivate(error) ? problem : { ...data, ...problem, hint }
}

/** A problem without a `ServiceError`; its code need not be an `ErrorCode`. */
export function makeProblem(status: number, code: string, detail: string): Problem {
  const title = STATUS_CODES[status] ?? 'Error'
  return { type: `urn:service:problem:${code}`, title, status, detail, code }
}

/** Answers with the problem. */
export function writeProblem(
  res: ServerResponse,
  problem: Problem,
  extraHeaders?: Readonly<Record<string, string>>,
): void {
  const headers = {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(problem.status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    ...extraHeaders,
  }
  endRefused(res, problem.status, headers, JSON.stringify(problem))
}

/** The rest of a refused body is read and thrown away for this long. */
const drainMs = 2000

/**
 * Sends the whole answer to a request whose body may still be on its way. Such a body is read and
 * dropped until the client is done or gone, or some time has passed; then the connection is closed.
 * The system resets a connection that is closed with unread bytes, and the reset overtakes the
 * answer. Where half an answer is out, only cutting the connection tells that it is not whole.
 */
export function endRefused(
  res: ServerResponse,
  status: number,
  headers: Record<string, string>,
  text: string,
): void {
  if (res.headersSent || res.destroyed) return void res.destroy()
  const { req } = res
  const body = Buffer.from(text)
  // What a server that is only busy now waits for ends within seconds.
  const retry = status === 503 ? { 'Retry-After': '1' } : {}
  const sized = { ...retry, ...headers, 'Content-Length': body.length }
  if (!isBodyPending(req)) {
    res.writeHead(status, sized).end(body)
    return
  }
  res.writeHead(status, { ...sized, Connection: 'close' }).write(body)
  const end = () => void res.end()
  const timer = setTimeout(end, drainMs)
  req.on('close', () => clearTimeout(timer))
  req.on('end', end).on('close', end).resume()
}

/** Whether the client is still sending the body of this request, or about to. */
function isBodyPending(req: IncomingMessage): boolean {
  if (req.complete || req.destroyed) return false
  const length = req.headers['content-length']
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
