import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { escapePointer, parseJson } from '../../lib/util/json.ts'
import { bodyText, readBody, maxBodyMs } from '../http/body.ts'
import { isJsonType } from '../http/media.ts'
import type { HttpLimits } from '../http/limits.ts'
import type { AccountLimits } from './limits.ts'
import { type MemberError, AccountsProblem } from './problems.ts'

export type JsonLimits = Pick<
  AccountLimits,
  'maxAuthBodyBytes' | 'maxAuthJsonDepth' | 'maxReportedErrors'
> &
  Pick<HttpLimits, 'bodyTimeoutMs'>

/**
 * Returns the body as the schema has it; an optional schema takes an empty one. Throws the refusal.
 * Only `application/json` is accepted: a web page can send other types without a preflight.
 */
export async function readRequestBody(
  req: IncomingMessage,
  schema: z.ZodType,
  limits: JsonLimits,
): Promise<unknown> {
  const encoding = req.headers['content-encoding']
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw unsupported('a body with a Content-Encoding is not taken')
  }
  const type = req.headers['content-type']
  if (type !== undefined && !isUtf8Json(type))
    throw unsupported('the body must be application/json')
  const bytes = await readBody(req, {
    maxBytes: limits.maxAuthBodyBytes,
    timeoutMs: limits.bodyTimeoutMs,
    maxMs: maxBodyMs,
  })
  const isEmpty = bytes.length === 0
  if (isEmpty && schema.safeParse(undefined).success) return undefined
  if (type === undefined) {
    const what = isEmpty ? 'the request needs a body of the type' : 'the body must be declared as'
    throw unsupported(`${what} application/json`)
  }
  if (isEmpty) throw malformed('the body is empty')
  const parsed = schema.safeParse(parseStrictJson(bodyText(bytes), limits.maxAuthJsonDepth))
  if (parsed.success) return parsed.data
  throw invalidMembers(parsed.error.issues.slice(0, limits.maxReportedErrors).map(toMemberError))
}

/** Throws `malformed-json`. */
function parseStrictJson(text: string, maxDepth: number): unknown {
  const parsed = parseJson(text, maxDepth)
  if (!parsed.ok) {
    const isDeep = parsed.failure === 'depth'
    throw malformed(isDeep ? `the body nests deeper than ${maxDepth}` : 'the body is not JSON')
  }
  const twice = findDuplicateMember(text)
  if (twice !== null) throw malformed(`the body has the member ${quoted(twice)} twice`)
  return parsed.value
}

/** A `validation-failed`, which names members and repeats no value. */
export function invalidMembers(errors: MemberError[]): AccountsProblem {
  const [first] = errors
  const where = first === undefined || first.pointer === '' ? 'the body' : first.pointer
  return new AccountsProblem('validation-failed', `${where}: ${first?.detail ?? 'is not right'}`, {
    errors,
  })
}

function toMemberError(issue: z.core.$ZodIssue): MemberError {
  const pointer = issue.path.map(part => `/${escapePointer(shortened(String(part)))}`).join('')
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.slice(0, 5).map(quoted).join(', ')
    return { pointer, detail: `has members that are not known here: ${names}` }
  }
  return { pointer, detail: issue.message }
}

function isUtf8Json(type: string): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type)?.[1]
  return isJsonType(type) && (charset === undefined || /^utf-?8$/i.test(charset))
}

/** What a client sent is shown back short, and with nothing that a terminal acts upon. */
function quoted(name: string): string {
  return `"${shortened(name)}"`
}

const maxEchoChars = 64

function shortened(text: string): string {
  const clean = text.replace(/[^\x20-\x7e]/g, '?')
  return clean.length > maxEchoChars ? `${clean.slice(0, maxEchoChars)}…` : clean
}

function malformed(message: string): AccountsProblem {
  return new AccountsProblem('malformed-json', message)
}

function unsupported(message: string): AccountsProblem {
  return new AccountsProblem('unsupported-media-type', message)
}

/**
 * Names a member that one object of a valid JSON text has twice, else null. Parsers disagree on
 * which of the two counts, so a proxy could check one value and the server use the other.
 */
export function findDuplicateMember(json: string): string | null {
  const objects: (Set<string> | null)[] = []
  let wantsName = false
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case '{':
        objects.push(new Set())
        wantsName = true
        break
      case '[':
        objects.push(null)
        wantsName = false
        break
      case '}':
      case ']':
        objects.pop()
        wantsName = false
        break
      case ',':
        wantsName = objects.at(-1) instanceof Set
        break
      case '"': {
        const end = endOfString(json, at + 1)
        if (wantsName) {
          // Two spellings of one name, "a" and "\u0061", are the same name.
          const name: string = JSON.parse(json.slice(at, end + 1))
          const seen = objects.at(-1)
          if (seen?.has(name)) return name
          seen?.add(name)
          wantsName = false
        }
        at = end
        break
      }
    }
  }
  return null
}

function endOfString(json: string, from: number): number {
  for (let at = from; at < json.length; at++) {
    if (json[at] === '\\') at++
    else if (json[at] === '"') return at
  }
  return json.length
}
