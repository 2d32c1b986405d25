import type { HostLimits } from './limits.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../lib/util/errors.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { parseJson, wellFormedJson, maxJsonDepth } from '../../lib/util/json.ts'
import { jsonFault } from '../../lib/mcp/json-fault.ts'
import type { MemberFailure } from '../../lib/host-link/member-reader.ts'
import type { Result } from '../../lib/util/result.ts'
import { bodyText, readBody } from '../http/body.ts'

/** The body of a JSON route. Throws what `readBody` throws, and `body_invalid` for bad UTF-8. */
export async function readText(req: IncomingMessage, limits: HostLimits): Promise<string> {
  const { maxMessageBytes: maxBytes, bodyTimeoutMs: timeoutMs } = limits
  return bodyText(await readBody(req, { maxBytes, timeoutMs }))
}

/** The same, parsed; also `body_invalid` for bad JSON. */
export async function readJson(req: IncomingMessage, limits: HostLimits): Promise<unknown> {
  return jsonOf(await readText(req, limits), JSON.parse)
}

/** Numbers keep their digits, for values that are passed on. */
export function jsonOf(text: string, parse = parseExact): unknown {
  const parsed = parseJson(wellFormedJson(text), maxJsonDepth, parse)
  if (parsed.ok) return parsed.value
  if (parsed.failure === 'syntax') {
    throw new ServiceError('body_invalid', `the body is not valid JSON: ${jsonFault(text)}`, {
      hint: 'NaN and Infinity are not JSON: send null or leave the member out',
    })
  }
  throw new ServiceError('body_invalid', `the body nests deeper than ${maxJsonDepth}`)
}

export function answerJson(res: ServerResponse, status: number, payload: object): void {
  const body = Buffer.from(JSON.stringify(payload))
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  res.end(body)
}

/** The value, or an exception that names the wrong member. */
export function accepted<Value>(result: Result<Value, MemberFailure>): Value {
  if (result.ok) return result.value
  throw invalidMember(result.failure)
}

export function invalidMember({ pointer, detail }: MemberFailure): ServiceError {
  const message = pointer === '' ? detail : `${pointer} ${detail}`
  return new ServiceError('body_invalid', message, { data: { errors: [{ pointer, detail }] } })
}
