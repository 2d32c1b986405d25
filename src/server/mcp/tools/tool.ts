import type { ErrorCode } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import { meantWords } from '../../../lib/util/text.ts'
import type { MaybePromise } from '../../resources/maybe-promise.ts'
import type { BlobContent, Content, Reader } from '../../resources/producer.ts'

/** What a model can call where its client offers no resources. */
export interface Tool {
  /** Where they differ from those of a tool that only reads. */
  readonly annotations?: { readonly readOnlyHint: boolean }
  readonly definition: ToolDefinition
  /** `args` fit the input schema. A `ServiceError` becomes a result that tells the model of it. */
  call(args: JsonObject, caller: Caller): MaybePromise<ToolResult>
}

/** One entry of `tools/list`. */
export interface ToolDefinition {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: InputSchema
  readonly outputSchema?: JsonObject
  readonly _meta?: JsonObject
}

interface InputSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, Property>>
  readonly required?: readonly string[]
  readonly additionalProperties: false
}

/** The part of JSON Schema that arguments are checked against. */
type Property = { readonly description: string } & (
  | { readonly type: 'string'; readonly enum?: readonly string[] }
  | {
      readonly type: 'integer'
      readonly minimum: number
      readonly maximum: number
      readonly default?: number
    }
  | {
      readonly type: 'array'
      readonly items: { readonly type: 'string' }
      readonly maxItems: number
    }
)

/** The caller, as far as a tool needs to know. */
export interface Caller {
  readonly reader: Reader | undefined
  /** As the endpoint knows the caller. */
  readonly principal: string
  readonly mayAnswer: boolean
  /** Tells the caller how far a call is; null: the caller did not ask for it. */
  readonly progress: Progress | null
  /** The messages of a batch are answered one after another: none of them may wait. */
  readonly isBatched?: boolean
}

export interface Progress {
  report(done: number, total: number, message: string): void
}

export interface ToolResult {
  readonly content: readonly ToolContent[]
  readonly structuredContent?: JsonObject
  /** The call failed; `content` tells the model why and what to do. */
  readonly isError?: true
}

export type ToolContent =
  | { readonly type: 'text'; readonly text: string; readonly _meta?: Content['_meta'] }
  | { readonly type: 'image'; readonly mimeType: string; readonly data: BlobContent['blob'] }

export function textResult(text: string, structuredContent?: JsonObject): ToolResult {
  const content = [{ type: 'text', text }] as const
  return structuredContent === undefined ? { content } : { content, structuredContent }
}

/** The result as text, too, as clients without structured results need it. */
export function jsonResult(structuredContent: JsonObject): ToolResult {
  return textResult(JSON.stringify(structuredContent), structuredContent)
}

export function failedResult(code: ErrorCode | 'argument_invalid', message: string): ToolResult {
  return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true }
}

/** The failure is a sentence for the model. */
export function checkArguments(args: JsonObject, schema: InputSchema): Result<JsonObject, string> {
  const { properties, required = [] } = schema
  const given = Object.entries(args).filter(([, value]) => value !== undefined && value !== null)
  const unknown = given.find(([name]) => !Object.hasOwn(properties, name))
  if (unknown !== undefined) {
    const [name] = unknown
    const known = Object.keys(properties)
    const meant = meantWords(name, known)
    return fail(
      `unknown argument ${JSON.stringify(name.slice(0, 60))}${meant}; known: ${known.join(', ')}`,
    )
  }
  const checked: JsonObject = Object.fromEntries(given)
  const absent = required.find(name => !Object.hasOwn(checked, name))
  if (absent !== undefined) return fail(`argument "${absent}" is missing`)
  for (const [name, value] of given) {
    const expected = expectation(value, properties[name]!)
    if (expected !== null) return fail(`argument "${name}" must be ${expected}`)
  }
  return ok(checked)
}

/** What the value should be; null when it is that. */
function expectation(value: unknown, property: Property): string | null {
  switch (property.type) {
    case 'string': {
      const words = property.enum
      if (words === undefined) return typeof value === 'string' ? null : 'a string'
      const isWord = typeof value === 'string' && words.includes(value)
      return isWord ? null : `one of ${words.join(', ')}`
    }
    case 'integer': {
      const { minimum, maximum } = property
      const fits =
        Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum
      return fits ? null : `an integer from ${minimum} to ${maximum}`
    }
    case 'array': {
      const { maxItems } = property
      const isList = Array.isArray(value) && value.every(each => typeof each === 'string')
      return isList && value.length <= maxItems ? null : `an array of at most ${maxItems} strings`
    }
  }
}

/** Text of at most `maxChars` characters, never half of a surrogate pair. */
export function sliceText(text: string, offset: number, maxChars: number): string {
  const end = offset + maxChars
  const isPairCut = end < text.length && isHighSurrogate(text.charCodeAt(end - 1))
  return text.slice(offset, isPairCut && maxChars > 1 ? end - 1 : end)
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
