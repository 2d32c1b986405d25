import type { z } from 'zod'
import type { ErrorCode } from '../../../lib/util/errors.ts'
import { parseExact } from '../../../lib/util/exact-json.ts'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import type { Notes } from '../../notes/notes.ts'
import type { BlobContent, Content, Reader, RelayedContents } from '../../resources/producer.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import type { ServerLimits } from '../../http/limits.ts'
import type { SubscriptionHub } from '../subscriptions.ts'

/** What a model can call where its client offers no resources. */
export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly name: string
  readonly title: string
  readonly description: string
  /** Words by which clients with many tools find this one, beside name and description. */
  readonly searchHint: string
  readonly input: Input
  /** More members of `_meta` in the list of tools. */
  readonly meta?: JsonObject
  /** Where they differ from those of a tool that only reads. */
  readonly annotations?: { readonly readOnlyHint: boolean }
  /** `args` fit the schema. A `ServiceError` becomes a result that tells the model of it. */
  call(args: z.output<Input>, caller: Caller, parts: ToolParts): ToolResult | Promise<ToolResult>
  /**
   * The answer of another server, which checks the arguments. Null: `call` has it. `isData`: the
   * caller wants the answer as data, too.
   */
  relay?(
    args: JsonObject,
    caller: Caller,
    isData: boolean,
    parts: ToolParts,
  ): Promise<RelayedContents | ToolResult> | null
}

/** The same tool: here the types of its arguments come from its schema. */
export function createTool<Input extends z.ZodObject>(tool: Tool<Input>): Tool {
  return tool as Tool
}

/** What the endpoint of a server gives its tools. */
export interface ToolParts {
  readonly registry: ServedResources
  readonly hub: SubscriptionHub
  readonly clock: Clock
  readonly timer: Timer
  readonly limits: ServerLimits
  /** Absent: the server keeps none, and has no tools for them. */
  readonly notes?: Notes
  /** Aborted when the server stops. */
  readonly stopped: AbortSignal
}

/** The caller, as far as a tool needs to know. */
export interface Caller extends Reader {
  /** As the endpoint knows the caller. */
  readonly principal: string
  readonly mayAnswer: boolean
  /** Tells the caller how far a call is; null: the caller did not ask for it. */
  readonly progress: Progress | null
  /** An answer that is still coming has no place in a batch. */
  readonly isBatched?: boolean
}

export interface Progress {
  report(done: number, total: number, message: string): void
}

export interface ToolResult {
  /** Everything: many clients give their model nothing else. */
  readonly content: readonly ToolContent[]
  /** The same for programs, which ask for it. */
  readonly data?: JsonObject
  /** The call failed; `content` tells the model why and what to do. */
  readonly isError?: true
}

export type ToolContent =
  | { readonly type: 'text'; readonly text: string; readonly _meta?: Content['_meta'] }
  | { readonly type: 'image'; readonly mimeType: string; readonly data: BlobContent['blob'] }

export function textResult(text: string, data?: JsonObject): ToolResult {
  return { content: [{ type: 'text', text }], data }
}

export function failedResult(code: ErrorCode, message: string): ToolResult {
  return { ...textResult(`${code}: ${message}`), isError: true }
}

/** The object that the text of the contents is in JSON; its numbers keep their digits. */
export function contentObject([content]: readonly Content[]): JsonObject {
  const value: unknown = content !== undefined && 'text' in content ? parseExact(content.text) : {}
  return isJsonObject(value) ? value : { value }
}
