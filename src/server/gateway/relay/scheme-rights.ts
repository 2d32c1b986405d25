import { schemeScopes } from '../../../lib/accounts/protocol.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import { writtenUri } from '../../mcp/tools/written-uri.ts'
import type { Reader } from '../../resources/producer.ts'
import { parseInstanceUri } from '../../resources/resource-uri.ts'

/** What tools read that name no resource. */
const schemeOfTool: Record<string, string> = {
  query_scene: 'scene',
  scene_changes: 'scene',
  look: 'capture',
  list_notes: 'notes',
}
/** What `wait_for_change` waits for when it names nothing. */
const defaultWaits = ['scene', 'notes']

/** Throws for a scheme of instances that the caller may not read. */
export function assertScheme(schemes: Reader['schemes'], scheme: string): void {
  if (schemes?.includes(scheme) !== false) return
  const scope = schemeScopes.find(each => each === `read:${scheme}`)
  throw new ServiceError('scope_insufficient', `the token may not read ${scheme} of instances`, {
    hint: `it needs the scope read${scope === undefined ? '' : ` or ${scope}`}`,
    data: { reason: 'scope_insufficient', scheme },
  })
}

/** Throws for a call of a tool that could show what is of another scheme. */
export function assertCall(schemes: Reader['schemes'], name: string, args: JsonObject): void {
  for (const scheme of schemesOf(name, args)) assertScheme(schemes, scheme)
}

function schemesOf(name: string, { uri, uris }: JsonObject): readonly string[] {
  if (name === 'read_resource') return [schemeOf(uri)]
  if (name === 'wait_for_change') {
    return Array.isArray(uris) && uris.length > 0 ? uris.map(schemeOf) : defaultWaits
  }
  return [schemeOfTool[name] ?? 'every resource']
}

function schemeOf(uri: unknown): string {
  const written = writtenUri(String(uri))
  if (written === null) return 'every resource'
  const [scheme = ''] = written.toLowerCase().split('://')
  return parseInstanceUri(written)?.scheme ?? scheme
}
