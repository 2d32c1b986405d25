import type { McpServer } from '../../lib/mcp/client/call.ts'
import { type Listed, listResources } from '../../lib/mcp/client/resources.ts'
import { isArtefactHex, parseArtefactUri } from '../../lib/mcp/artefact-uri.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { cleanText } from '../../lib/util/text.ts'

const prefix = /^artefact:\/\/sha256\/|^sha256:/

/** The whole SHA-256, in `artefact://sha256/<hex>`, `sha256:<hex>` or `<hex>`; null without one. */
export function hashIn(word: string): string | null {
  const digits = word.replace(prefix, '')
  return isArtefactHex(digits) ? digits : null
}

/** Rejects with `storage_unavailable` when the server cannot list its artefacts. */
export function listArtefacts(server: McpServer): Promise<Listed[]> {
  return listResources(server, 'resources', what => {
    throw new ServiceError('storage_unavailable', what, { hint: 'try again later' })
  })
}

/** Finds an artefact by its display name or the start of its SHA-256. Rejects with `ServiceError`. */
export async function findArtefact(word: string, server: McpServer): Promise<string> {
  const digits = word.replace(prefix, '')
  const isStart = /^[0-9a-f]{4,64}$/.test(digits)
  const found = (await listArtefacts(server)).flatMap(({ uri, name }) => {
    const hex = parseArtefactUri(uri)
    const isMeant = name === word || (isStart && hex?.startsWith(digits))
    return hex !== null && isMeant ? hex : []
  })
  const [only, ...others] = found
  if (only === undefined) throw notStored(word)
  if (others.length === 0) return only
  const some = found.slice(0, 5).map(hex => hex.slice(0, 12))
  const hint = `name one by its SHA-256: ${some.join(', ')}${found.length > 5 ? ', …' : ''}`
  throw usage(`"${word}" is ${found.length} artefacts`, hint)
}

export function notStored(word: string): ServiceError {
  return new ServiceError('resource_not_found', `no artefact ${cleanText(word, 300)} is stored`, {
    hint: 'service-cli artefacts list shows them',
  })
}
