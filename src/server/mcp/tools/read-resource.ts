import { z } from 'zod'
import { isPast } from '../../../lib/mcp/unconfirmed.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { arrayOf, isJsonObject } from '../../../lib/util/json.ts'
import { asText, cleanText } from '../../../lib/util/text.ts'
import { ResourceUriInvalid } from '../../resources/errors.ts'
import { detailUri } from '../../resources/object-detail.ts'
import type { Content, TextContent } from '../../resources/producer.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import { kinds } from './arguments.ts'
import { maxChars, sliceText } from './pages.ts'
import { base64Chars, pictureContent } from './picture.ts'
import { presenceOf } from './presence.ts'
import { readScenePart } from './query-scene.ts'
import { type Caller, createTool, failedResult, type Tool, type ToolContent } from './tool.ts'
import { isMissing, withSuggestedUri, writtenUri } from './written-uri.ts'

/** Wide enough for models, which scale larger pictures down. */
const maxPictureWidth = 1568
/** Characters of a URI, a name or a type in a line about it. */
const maxShownChars = 200

const definition = {
  name: 'read_resource',
  title: 'Read a resource',
  description:
    'Read a resource by its URI (list_resources has them), such as a file, a log, the console with ' +
    'its errors, the audit or a note; or an object of the scene by its name. Long text comes in ' +
    'slices; the last line says how to go on. Pictures come as images. For scenes query_scene is ' +
    'shorter.',
  searchHint:
    'read a file, console output and errors, log, artefact, texture, details of an object',
  input: z.strictObject({
    uri: kinds.text('such as audit://recent?limit=20, or the name of an object'),
    offset: kinds.offset('what the slice before said, in characters or bytes').default(0),
    max_chars: maxChars,
  }),
}

/** Reads one resource: text in slices, a picture as an image, facts of anything else. */
export function readResourceTool(registry: ServedResources): Tool {
  return createTool(definition, async ({ uri: text, offset, max_chars: most }, { reader }) => {
    const uri = writtenUri(registry, text)
    if (uri !== null && registry.changes(uri)) {
      return failedResult('argument_invalid', 'tools only read: leave out drain=true')
    }
    const contents = await (uri === null
      ? readObject(registry, text, reader)
      : Promise.try(() => registry.read(askedUri(uri, offset), reader)).catch((error: unknown) =>
          withSuggestedUri(registry, uri, error, reader),
        ))
    const slice = { offset, most }
    const parts = await Promise.all(contents.map(content => contentOf(registry, content, slice)))
    const content = parts.length === 0 ? [textPart('the resource is empty')] : parts.flat()
    // Known only once the application was asked.
    const isOfScene = uri !== null && uri.startsWith('scene:') && !isPast(uri)
    const presence = isOfScene ? presenceOf(registry.scene) : null
    return { content: presence === null ? content : [...content, textPart(presence.line)] }
  })
}

/** What the application tells of the object with this name or id, else what the scene does. */
async function readObject(
  registry: ServedResources,
  word: string,
  reader: Caller['reader'],
): Promise<readonly Content[]> {
  // A scene of another form has no objects.
  const part = await readScenePart(registry, { ids: [word] }, reader).catch(() => null)
  const found = arrayOf(part?.items).filter(isJsonObject)
  const object = found.find(({ id }) => asText(id) === word) ?? found[0]
  const uri = detailUri(registry, object === undefined ? word : asText(object.id ?? object.name))
  try {
    if (uri !== null) return await registry.read(uri, reader)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  if (object !== undefined) return [{ uri: word, text: JSON.stringify(part) }]
  const name = JSON.stringify(cleanText(word, maxShownChars))
  throw new ServiceError('resource_not_found', `no object of the scene is called ${name}`, {
    hint: 'query_scene finds objects, list_resources has the URIs of all else',
  })
}

/**
 * A picture is taken no wider than a model sees it. Of a slice of a stored text `offset` goes on
 * from the one in the URI.
 */
function askedUri(uri: string, offset: number): string {
  const [file = '', query = ''] = uri.split('?')
  const parameters = new URLSearchParams(query)
  if (file.startsWith('artefact://') && parameters.get('as') === 'text') {
    if (offset > 0) parameters.set('offset', String(offset))
    return `${file}?${parameters}`
  }
  const isPicture = file.startsWith('capture://') || (file.startsWith('artefact://') && !query)
  if (!isPicture || parameters.has('max_width')) return uri
  return `${uri}${query ? '&' : '?'}max_width=${maxPictureWidth}`
}

interface Slice {
  readonly offset: number
  readonly most: number
}

async function contentOf(
  registry: ServedResources,
  content: Content,
  slice: Slice,
): Promise<readonly ToolContent[]> {
  if ('text' in content) return fileSlice(content) ?? textOf(content, slice)
  const { mimeType = 'application/octet-stream', blob, uri } = content
  const [plain = ''] = uri.split('?')
  const shown = cleanText(plain, maxShownChars)
  const picture = pictureContent(blob, shown)
  if (picture !== null) return picture
  const text = plain.startsWith('artefact://') ? await textFile(registry, plain, slice) : null
  if (text !== null) return text
  const bytes = Math.floor(base64Chars(blob) / 4) * 3
  const facts = `${shown}: ${cleanText(mimeType, maxShownChars)}, about ${bytes} bytes`
  return [textPart(`${facts}; not shown, because it is not a text or picture of moderate size`)]
}

/** A slice of a stored file, whose offsets are bytes; null: its bytes are no text. */
async function textFile(registry: ServedResources, file: string, { offset, most }: Slice) {
  try {
    const [part] = await registry.read(`${file}?as=text&offset=${offset}&limit=${most}`)
    const isText = part !== undefined && 'text' in part && !part.text.includes('\0')
    return isText ? fileSlice(part) : null
  } catch (error) {
    if (error instanceof ResourceUriInvalid) return null
    throw error
  }
}

/** Null: the text is no slice of a file. */
function fileSlice({ text, _meta }: TextContent): readonly ToolContent[] | null {
  const slice = _meta?.['service-cli/slice']
  if (!isJsonObject(slice)) return null
  const { offset, bytes, total } = slice
  return sliced(textPart(text), 'bytes', Number(offset), Number(bytes), Number(total))
}

function textOf({ text, _meta }: TextContent, { offset, most }: Slice): readonly ToolContent[] {
  const slice = sliceText(text, offset, most)
  const from = Math.min(offset, text.length)
  const part: ToolContent = { type: 'text', text: slice, _meta }
  return sliced(part, 'characters', from, slice.length, text.length)
}

/** The slice, and where it is. */
function sliced(
  part: ToolContent,
  unit: 'bytes' | 'characters',
  offset: number,
  length: number,
  total: number,
): readonly ToolContent[] {
  if (length === total) return [part]
  const end = offset + length
  const goOn = end < total ? `go on with offset=${end}` : 'that is the end'
  return [part, textPart(`${unit} ${offset} to ${end} of ${total}; ${goOn}`)]
}

function textPart(text: string): ToolContent {
  return { type: 'text', text }
}
