import { z } from 'zod'
import { dataKey } from '../../../lib/mcp/call-meta.ts'
import { onAbort } from '../../../lib/util/abort.ts'
import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { BlobContent } from '../../resources/producer.ts'
import {
  type Caller,
  failedResult,
  textResult,
  type Tool,
  type ToolContent,
  type ToolDefinition,
  type ToolParts,
  type ToolResult,
} from '../../mcp/tools/tool.ts'
import { applicationDefinitions, gatewayTools } from '../../mcp/tools/tools.ts'
import { batchRefused, sinceArguments, stopping } from '../../mcp/tools/wait-for-change.ts'
import { writtenUri } from '../../mcp/tools/written-uri.ts'
import { shortId } from '../instance-rows.ts'
import { readerUntil } from './open-requests.ts'
import { labelOf } from './ended-instances.ts'
import { outerUri, parseInstanceUri } from './instance-uri.ts'
import type { Instances } from './instances.ts'

/** Whether the word names an object, which only an instance knows. */
type IsName = (word: unknown) => word is string

/** A gateway has no tool for it. */
const answeredThere = 'Notes are answered at the instance itself, not through the gateway.'

const naming =
  'its id or the first digits of it, the kind of application, or the name of its document'

/** The argument of a tool that only instances have. */
const instance = z
  .string()
  .describe(`which instance: ${naming}; absent: the only one that runs`)
  .optional()

/** The argument of a tool that the gateway also has. */
const otherInstance = z
  .string()
  .describe(`the instance to ask instead of the gateway: ${naming}; URIs are then as it calls them`)
  .optional()

/**
 * The tools of a gateway that passes resources of instances on: its own, and those that read an
 * application. The instance that is meant answers the call.
 */
export function instanceTools(parts: ToolParts, instances: Instances): readonly Tool[] {
  const isName = (word: unknown): word is string =>
    typeof word === 'string' && writtenUri(word) === null
  return [
    ...gatewayTools(parts).map(tool => withInstance(tool, instances, isName, parts)),
    ...applicationDefinitions.map(definition =>
      forwarded(
        definition.name === 'list_notes'
          ? { ...definition, description: `${definition.description} ${answeredThere}` }
          : definition,
        instances,
      ),
    ),
  ]
}

/** A tool of the gateway that an instance answers when one is named. */
function withInstance(tool: Tool, instances: Instances, isName: IsName, parts: ToolParts): Tool {
  const isWait = tool.name === 'wait_for_change'
  const more = { instance: otherInstance, ...(isWait && sinceArguments) }
  return {
    ...tool,
    input: tool.input.extend(more),
    call(args, caller) {
      if (isWait && caller.isBatched) return batchRefused()
      if (isWait) return wait(tool, args, caller, instances, isName, parts)
      const { instance: word, uri } = args
      if (word !== undefined || isName(uri)) return forward(tool, args, caller, instances)
      const parsed = typeof uri === 'string' ? parseInstanceUri(uri) : null
      if (parsed === null) return tool.call(args, caller)
      // The instance cuts its text, so that little of it comes here.
      const named = { ...args, uri: parsed.inner, instance: parsed.selector }
      return forward(tool, named, caller, instances)
    },
  }
}

function forwarded(definition: ToolDefinition, instances: Instances): Tool {
  return {
    ...definition,
    input: definition.input.extend({ instance }),
    call: (args, caller) => forward(definition, args, caller, instances),
  }
}

async function forward(
  { name }: Pick<ToolDefinition, 'name'>,
  { instance, ...args }: JsonObject,
  caller: Caller,
  instances: Instances,
): Promise<ToolResult> {
  const entry = instances.names.choose(instance === undefined ? undefined : String(instance))
  const { instanceId } = entry.record
  const inner = (uri: unknown) => innerUri(uri, instanceId, instances)
  const asked = {
    name,
    arguments: {
      ...args,
      ...(args.uri !== undefined && { uri: inner(args.uri) }),
      ...(Array.isArray(args.uris) && { uris: args.uris.map(inner) }),
    },
    // The caller may want it, and a wait needs it for the URIs.
    _meta: { [dataKey]: true },
  }
  const result = await instances.call(instanceId, 'tools/call', asked, caller)
  const there = name === 'list_notes' ? `; ${answeredThere}` : ''
  const from = `instance ${shortId(instanceId)}: ${labelOf(entry)}${there}`
  return { ...resultOf(result), content: [...contentOf(result), { type: 'text', text: from }] }
}

/** The URI as the instance calls it, where it was given as the gateway does. */
function innerUri(uri: unknown, instanceId: string, instances: Instances): unknown {
  const parsed = typeof uri === 'string' ? parseInstanceUri(uri) : null
  if (typeof uri !== 'string' || parsed === null) return uri
  return instances.find(uri).instanceId === instanceId ? parsed.inner : uri
}

/**
 * Waits at every instance that has one of the resources, and at the gateway for its own: the first
 * that tells of a change, or of a failure, ends the others.
 */
function wait(
  tool: Tool,
  { since, run, ...args }: JsonObject,
  caller: Caller,
  instances: Instances,
  isName: IsName,
  parts: ToolParts,
): ToolResult | Promise<ToolResult> {
  if (args.instance !== undefined) {
    return firstOf(caller, parts, one => [forward(tool, { since, run, ...args }, one, instances)])
  }
  const uris: readonly unknown[] = Array.isArray(args.uris) ? args.uris : []
  const own = uris.filter(uri => parseInstanceUri(String(uri)) === null && !isName(uri))
  const byInstance = new Map<string, string[]>()
  for (const uri of uris.filter(uri => !own.includes(uri))) {
    const { instanceId, inner } = isName(uri)
      ? { ...instances.names.choose(undefined).record, inner: uri }
      : instances.find(String(uri))
    byInstance.set(instanceId, [...(byInstance.get(instanceId) ?? []), inner])
  }
  const isOne = byInstance.size === 1 && own.length === 0
  if (since !== undefined && !isOne) {
    return failedResult('argument_invalid', 'since is a revision of one instance: name that alone')
  }
  if (byInstance.size === 0) return tool.call(args, caller)
  return firstOf(caller, parts, one => [
    // First, because it may throw: rejections of calls already open would then be unhandled.
    ...(own.length > 0 ? [tool.call({ ...args, uris: own }, one)] : []),
    ...[...byInstance].map(async ([instanceId, inner]) => {
      const asked = { ...args, uris: inner, instance: instanceId, ...(isOne && { since, run }) }
      return withOuterUris(await forward(tool, asked, one, instances), instanceId)
    }),
  ])
}

/** Ends the others with the first, or all when the gateway stops. */
async function firstOf(
  caller: Caller,
  { waits, stopped }: ToolParts,
  begin: (caller: Caller) => (ToolResult | Promise<ToolResult>)[],
): Promise<ToolResult> {
  const over = new AbortController()
  const one = { ...caller, ...readerUntil(caller, over.signal) }
  const { promise, resolve } = Promise.withResolvers<ToolResult>()
  const reason = stopping
  const release = onAbort(stopped, () =>
    resolve(textResult(`no change: ${reason}`, { changed: false, reason })),
  )
  waits.add(over)
  try {
    return await Promise.race([...begin(one), promise])
  } finally {
    waits.delete(over)
    release()
    over.abort()
  }
}

/** With the URIs as the gateway calls them, in words and data. */
function withOuterUris(result: ToolResult, instanceId: string): ToolResult {
  const { content, data } = result
  const outer = (uri: string) => outerUri(instanceId, uri) ?? uri
  return {
    ...result,
    content: content.map(item =>
      item.type === 'text' ? { ...item, text: item.text.replace(changedUri, outer) } : item,
    ),
    ...(Array.isArray(data?.uris) && {
      data: { ...data, uris: data.uris.map(uri => (typeof uri === 'string' ? outer(uri) : uri)) },
    }),
  }
}

/** The URI in the first line of the answer to a wait. */
const changedUri = /(?<=^changed: )\S+/

function resultOf({ structuredContent: data, isError }: JsonObject): Omit<ToolResult, 'content'> {
  return { ...(isJsonObject(data) && { data }), ...(isError === true && ({ isError } as const)) }
}

/** Items of a form that a model is not to be given are left out. */
function contentOf({ content }: JsonObject): readonly ToolContent[] {
  const items = Array.isArray(content) ? content.filter(isJsonObject) : []
  return items.flatMap((item): readonly ToolContent[] => {
    const { type, text, mimeType, data } = item
    if (type === 'text' && typeof text === 'string') return [{ type, text }]
    if (type !== 'image' || typeof mimeType !== 'string' || !isBase64(data)) return []
    return [{ type, mimeType, data }]
  })
}

function isBase64(data: unknown): data is BlobContent['blob'] & string {
  return typeof data === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(data)
}
