import { z } from 'zod'
import { isPast } from '../../../lib/mcp/unconfirmed.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { arrayOf, isJsonObject } from '../../../lib/util/json.ts'
import { asText, cleanText } from '../../../lib/util/text.ts'
import { lacksSharp } from '../../capture/pictures.ts'
import { pictureWidths } from '../../resources/capture.ts'
import { ResourceUriInvalid } from '../../resources/errors.ts'
import { detailUri } from '../../resources/object-detail.ts'
import type { Content, Reader, TextContent } from '../../resources/producer.ts'
import { parseResourceUri } from '../../resources/resource-uri.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import { maxChars, sliceText } from './pages.ts'
import { byteLength, pictureContent } from './picture.ts'
import { presenceOf } from './presence.ts'
import { readScenePart } from './query-scene.ts'
import { createTool, type ToolContent } from './tool.ts'
import { isNotFound, withQuery, writtenUri } from './written-uri.ts'

/** Characters of a URI, a name or a type in a line about it. */
const maxShownChars = 200

/** Reads one resource: text in slices, a picture as an image, facts of anything else. */
export const readResource = createTool({
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
    uri: z.string().describe('such as audit://recent?limit=20, or the name of an object'),
    offset: z
      .int()
      .min(0)
      .describe('what the slice before said, in characters or bytes')
      .default(0),
    max_chars: maxChars,
  }),
  async call({ uri: word, offset, max_chars: most }, caller, { registry }) {
    const uri = registry.own(writtenUri(word))
    const contents = await (uri === null
      ? readObject(registry, word, caller)
      : readUri(registry, uri, offset, caller))
    const slice = { offset, most }
    const parts = await Promise.all(contents.map(content => contentOf(registry, content, slice)))
    const content = parts.length === 0 ? [textPart('the resource is empty')] : parts.flat()
    // Known only once the application was asked.
    const isOfScene = uri !== null && uri.startsWith('scene:') && !isPast(uri)
    const presence = isOfScene ? presenceOf(registry.scene) : null
    return { content: presence === null ? content : [...content, textPart(presence.line)] }
  },
})

/** What the application tells of the object with this name or id, else what the scene does. */
async function readObject(
  registry: ServedResources,
  word: string,
  reader: Reader,
): Promise<readonly Content[]> {
  // A scene of another form has no objects.
  const part = await readScenePart(registry, { ids: [word] }, reader).catch(() => null)
  const found = arrayOf(part?.items).filter(isJsonObject)
  const object = found.find(({ id }) => asText(id) === word) ?? found[0]
  const uri = detailUri(registry, object === undefined ? word : asText(object.id ?? object.name))
  try {
    if (uri !== null) return await registry.read(uri, reader)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  if (object !== undefined) return [{ uri: word, text: JSON.stringify(part) }]
  const name = JSON.stringify(cleanText(word, maxShownChars))
  throw new ServiceError('resource_not_found', `no object of the scene is called ${name}`, {
    hint: 'query_scene finds objects, list_resources has the URIs of all else',
  })
}

/** Of a slice of a stored text `offset` goes on from the one in the URI. */
async function readUri(
  registry: ServedResources,
  uri: string,
  offset: number,
  reader: Reader,
): Promise<readonly Content[]> {
  const parsed = parseResourceUri(uri)
  const { scheme = '', query = [] } = parsed.ok ? parsed.value : {}
  const [file = ''] = uri.split('?')
  const others = Object.fromEntries(query)
  if (scheme === 'events' && !['false', '0'].includes(others.drain ?? 'false')) {
    throw new ResourceUriInvalid('tools only read: leave out drain')
  }
  const isFile = scheme === 'artefact'
  if (isFile && others.as === 'text') {
    return registry.read(offset > 0 ? withQuery(file, { ...others, offset }) : uri, reader)
  }
  if (!isFile && scheme !== 'capture') return registry.read(uri, reader)
  const { max_width = pictureWidths.model } = others
  return registry.read(withQuery(file, { ...others, max_width }), reader)
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
  if ('text' in content) return textOf(content, slice)
  const { mimeType = 'application/octet-stream', blob, uri, _meta } = content
  const [plain = ''] = uri.split('?')
  const shown = cleanText(plain, maxShownChars)
  const picture = await pictureContent(blob, shown)
  if (picture !== null) return picture
  const text = plain.startsWith('artefact://') ? await textFile(registry, plain, slice) : null
  if (text !== null) return text
  const facts = `${shown}: ${cleanText(mimeType, maxShownChars)}, ${byteLength(blob)} bytes`
  const artefact = _meta?.['service-cli/artefact']
  const url = isJsonObject(artefact) ? artefact.download_url : undefined
  const link = url === undefined ? '' : `; download it from ${asText(url)}`
  const missing = (await lacksSharp()) ? larger : ''
  return [textPart(`${facts}; ${notShown}${missing}${link}`)]
}

const notShown =
  'not shown, because it is neither text nor a PNG, JPEG, GIF or WebP picture that can be shown'
const larger = `; one of more than ${pictureWidths.model} pixels or 1 MB needs the package sharp`

/** A slice of a stored file, whose offsets are bytes; null: its bytes are no text. */
async function textFile(registry: ServedResources, file: string, slice: Slice) {
  try {
    const { offset, most } = slice
    const [part] = await registry.read(`${file}?as=text&offset=${offset}&limit=${most}`)
    const isText = part !== undefined && 'text' in part && !part.text.includes('\0')
    return isText ? textOf(part, slice) : null
  } catch (error) {
    if (error instanceof ResourceUriInvalid) return null
    throw error
  }
}

/** The slice, and where it is. That of a stored file was cut already. */
function textOf({ text, _meta }: TextContent, { offset, most }: Slice): readonly ToolContent[] {
  const file = _meta?.['service-cli/slice']
  if (isJsonObject(file)) {
    return [
      textPart(text),
      ...rangeOf('bytes', Number(file.offset), Number(file.bytes), Number(file.total)),
    ]
  }
  const slice = sliceText(text, offset, most)
  const from = Math.min(offset, text.length)
  return [{ ...textPart(slice), _meta }, ...rangeOf('characters', from, slice.length, text.length)]
}

/** Where the slice is, and how to go on; nothing for a whole text. */
function rangeOf(unit: string, offset: number, length: number, total: number): ToolContent[] {
  if (length === total) return []
  const end = offset + length
  const continueHint = end < total ? `go on with offset=${end}` : 'that is the end'
  return [textPart(`${unit} ${offset} to ${end} of ${total}; ${continueHint}`)]
}

function textPart(text: string): ToolContent & { type: 'text' } {
  return { type: 'text', text }
}
