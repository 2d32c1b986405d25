import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { cleanText } from '../../../lib/util/text.ts'
import type { ListPage } from '../../resources/listing.ts'
import type { Descriptor, Template } from '../../resources/producer.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import { defaultChars, fitting } from './pages.ts'
import { type Caller, createTool, textResult } from './tool.ts'

/** Characters of a URI template, a name, a type or a description in a line. */
const maxShownChars = 600

/** Finds resources by words and scheme, a page at a time. */
export const listResources = createTool({
  name: 'list_resources',
  title: 'List resources',
  description:
    'List what can be read here, one line each: URI, name, type, size. First come the URI ' +
    'templates. Narrow by words (query) or by scheme, such as scene, artefact or events (console).',
  searchHint: 'which files, artefacts, console sessions, logs and URIs there are',
  input: z.strictObject({
    query: z.string().describe('words that URI, name or description must contain').default(''),
    scheme: z.string().describe('only URIs of this scheme, such as artefact').optional(),
    limit: z.int().min(1).max(500).describe('entries of one answer').default(50),
    cursor: z
      .string()
      .regex(/^\d{1,9}$/, 'must be the one of an answer')
      .describe('where to go on: the last line of an answer says it')
      .default('0'),
  }),
  async call({ query, scheme, limit, cursor }, caller, { registry }) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean)
    const from = Number(cursor)
    const most = from + limit + 1
    const { found, lacks } = await firstMatching(registry, matcher(words, scheme), most, caller)
    const lines = found.slice(from, from + limit).map(lineOf)
    const shown = lines.slice(0, Math.max(1, fitting(lines, defaultChars, String)))
    if (shown.length === 0) shown.push('no resource matches')
    else if (from + shown.length < found.length) shown.push(`more: cursor="${from + shown.length}"`)
    return textResult([...shown, ...lacks].join('\n'))
  },
})

type Entry = Descriptor | Template

function matcher(words: string[], scheme?: string): (entry: Entry) => boolean {
  const start = scheme === undefined ? '' : `${scheme.replace(/:.*$/, '').toLowerCase()}:`
  return entry => {
    const uri = 'uri' in entry ? entry.uri : entry.uriTemplate
    if (!uri.startsWith(start)) return false
    if (words.length === 0) return true
    const { name, title = '', description = '' } = entry
    const text = `${uri} ${name} ${title} ${description}`.toLowerCase()
    return words.every(word => text.includes(word))
  }
}

/**
 * The first matching scenes of instances, templates and resources, about as many as are asked for.
 * Other requests are answered between two pages, and no page is made for a caller who has left.
 */
async function firstMatching(
  registry: ServedResources,
  wants: (entry: Entry) => boolean,
  most: number,
  caller: Caller,
): Promise<{ found: readonly Entry[]; lacks: readonly string[] }> {
  const lacks: string[] = []
  const matching: Entry[] = [...registry.first(caller), ...registry.templates()].filter(wants)
  let cursor: string | undefined
  do {
    const page: ListPage = await registry.page(cursor)
    matching.push(...page.descriptors.filter(wants))
    if (page.incomplete !== undefined) lacks.push(page.incomplete)
    cursor = page.nextCursor
    await setImmediate()
  } while (cursor !== undefined && matching.length < most && !caller.signal.aborted)
  return { found: matching, lacks }
}

function lineOf(entry: Entry): string {
  const { name, mimeType, description = name, annotations } = entry
  const clean = (text: string) => cleanText(text, maxShownChars)
  if ('uriTemplate' in entry) return `${clean(entry.uriTemplate)}: ${clean(description)}`
  const facts = [
    mimeType && clean(mimeType),
    entry.size === undefined ? undefined : `${entry.size} bytes`,
    annotations?.lastModified && `changed ${annotations.lastModified}`,
  ].filter(Boolean)
  const about = facts.length === 0 ? '' : ` (${facts.join(', ')})`
  return `${entry.uri}: ${clean(name)}${about}`
}
