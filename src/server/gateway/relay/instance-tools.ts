import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import type { BlobContent } from '../../resources/producer.ts'
import { shortId } from '../instance-rows.ts'
import type { Caller, Tool, ToolContent, ToolResult } from '../../mcp/tools/tool.ts'
import {
  applicationDefinitions,
  gatewayTools,
  type ToolBox,
  type ToolParts,
} from '../../mcp/tools/tools.ts'
import { sinceProperty } from '../../mcp/tools/wait-for-change.ts'
import type { InstanceCalls } from './instance-calls.ts'
import { parseInstanceUri } from './instance-uri.ts'
import { type Instances, labelOf } from './instances.ts'

interface InstanceToolsParts {
  readonly instances: Instances
  readonly calls: InstanceCalls
}

const instanceProperty = {
  type: 'string',
  description:
    'which instance: its id or the first digits of it, the kind of application, or the name of its ' +
    'document; absent: the only one that runs',
} as const

/**
 * The tools of a gateway that passes resources of instances on: its own, and those that read an
 * application. The instance that is meant answers the call.
 */
export function instanceTools(parts: ToolParts, relay: InstanceToolsParts): ToolBox {
  const own = gatewayTools(parts)
  return {
    ...own,
    tools: [
      ...own.tools.map(tool => withInstance(tool, relay)),
      ...applicationDefinitions(parts).map(definition => forwarded(definition, relay)),
    ],
  }
}

/** A tool of the gateway that an instance answers when one is named. */
function withInstance(tool: Tool, relay: InstanceToolsParts): Tool {
  return {
    ...tool,
    definition: defined(
      tool.definition,
      'With instance: what that instance serves, URIs as it calls them.',
    ),
    call({ instance, ...args }, caller) {
      if (instance !== undefined) return forward(tool, { instance, ...args }, caller, relay)
      const parsed = typeof args.uri === 'string' ? parseInstanceUri(args.uri) : null
      if (parsed === null) return tool.call(args, caller)
      // The instance cuts its text, so that little of it comes here.
      const named = { ...args, uri: parsed.inner, instance: parsed.selector }
      return forward(tool, named, caller, relay)
    },
  }
}

function forwarded(definition: Tool['definition'], relay: InstanceToolsParts): Tool {
  const tool = { definition: defined(definition, '') }
  return { ...tool, call: (args, caller) => forward(tool, args, caller, relay) }
}

function defined(definition: Tool['definition'], more: string): Tool['definition'] {
  const { inputSchema, description, name } = definition
  const properties = {
    instance: instanceProperty,
    ...inputSchema.properties,
    ...(name === 'wait_for_change' && { since: sinceProperty }),
  }
  return {
    ...definition,
    description: more === '' ? description : `${description} ${more}`,
    inputSchema: { ...inputSchema, properties },
  }
}

async function forward(
  { definition: { name } }: Pick<Tool, 'definition'>,
  { instance, ...args }: JsonObject,
  caller: Caller,
  { instances, calls }: InstanceToolsParts,
): Promise<ToolResult> {
  const entry = instances.choose(instance === undefined ? undefined : String(instance))
  const { instanceId } = entry.record
  const result = await calls.ask(instanceId, 'tools/call', { name, arguments: args }, caller)
  const from = `instance ${shortId(instanceId)}: ${labelOf(entry)}`
  return { ...resultOf(result), content: [...contentOf(result), { type: 'text', text: from }] }
}

function resultOf({ structuredContent, isError }: JsonObject): Omit<ToolResult, 'content'> {
  return {
    ...(isJsonObject(structuredContent) && { structuredContent }),
    ...(isError === true && ({ isError } as const)),
  }
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
