import { differing, type Field, type Observation } from './answers.ts'
import type { Difference } from './differences.ts'

/** What a field must be: a value, or a form that its text must have. */
export type Expected = { readonly [Name in Field]?: Observation[Name] | RegExp }

/** Does the row say of this request exactly how the two answers differ? */
export function explains(
  [requests, ours, theirs]: Difference,
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

/** Answers in an array. */
export const batch = {
  status: 200,
  message: 'batch',
  code: /^(ok|-32601)( (ok|-32601))*$/,
  id: /^\S/,
  members: null,
  value: null,
  session: false,
} as const

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
