import type { JsonObject } from '../../../lib/json.ts'
import type { ServerIdentity } from '../identity.ts'
import type { JsonText, ResultOpening } from '../json-text.ts'
import type { ResourceMethods } from '../resource-methods.ts'
import { discoverResult } from './discover.ts'
import type { ResultOpenings } from './result.ts'

export interface Method {
  /** The members of the result. */
  run(params: JsonObject): JsonText | Promise<JsonText>
  /** What stands before them. */
  opening(params: JsonObject): ResultOpening
}

/** A method that is not in the table does not exist: 404, −32601. */
export type MethodTable = ReadonlyMap<string, Method>

export interface MethodParts {
  identity: ServerIdentity
  openings: ResultOpenings
  /** Null: resources are switched off. */
  resources: ResourceMethods | null
}

/** The requests of the stateless era that are answered with one JSON object. */
export function createMethods({ identity, openings, resources }: MethodParts): MethodTable {
  const { plain, live, discover, read } = openings
  const found = discoverResult(identity, resources !== null)
  const table = new Map<string, Method>([
    ['server/discover', { run: () => found, opening: () => discover }],
  ])
  if (resources === null) return table
  return table
    .set('resources/list', { run: params => resources.list(params), opening: () => live })
    .set('resources/templates/list', {
      run: params => resources.listTemplates(params),
      opening: () => live,
    })
    .set('resources/read', {
      run: params => resources.read(params),
      opening: ({ uri }) => read(uri),
    })
    .set('completion/complete', {
      run: params => resources.complete(params),
      opening: () => plain,
    })
}
