import type { JsonObject } from '../../../lib/json.ts'
import type { ServerIdentity } from '../identity.ts'
import { JsonText, type ResultOpening } from '../json-text.ts'
import type { ResourceMethods } from '../resource-methods.ts'
import { discoverResult } from './discover.ts'
import type { ExtraMethods } from './extra-methods.ts'
import type { ResultOpenings } from './result.ts'

export interface Method {
  /** The members of the result. */
  run(params: JsonObject): JsonText | Promise<JsonText>
  /** What stands before them. */
  opening(params: JsonObject): ResultOpening
  /** Capabilities that the client must declare with the request. */
  requires?(params: JsonObject): JsonObject
}

/** A method that is not in the table does not exist: 404, −32601. */
export type MethodTable = ReadonlyMap<string, Method>

export interface MethodParts {
  identity: ServerIdentity
  openings: ResultOpenings
  /** Null: resources are switched off. */
  resources: ResourceMethods | null
  extraMethods?: ExtraMethods | undefined
}

/** The requests of the stateless era that are answered with one JSON object. */
export function createMethods(parts: MethodParts): MethodTable {
  const { identity, openings, resources, extraMethods } = parts
  const { plain, live, discover, read } = openings
  const found = discoverResult(identity, resources !== null, extraMethods?.capabilities)
  const table = new Map<string, Method>([
    ['server/discover', { run: () => found, opening: () => discover }],
  ])
  for (const [name, { run, ...rest }] of extraMethods?.methods ?? []) {
    table.set(name, {
      ...rest,
      run: params => JsonText.membersOf(run(params)),
      opening: () => plain,
    })
  }
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
