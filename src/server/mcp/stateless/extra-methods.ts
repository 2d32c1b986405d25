import type { JsonObject } from '../../../lib/util/json.ts'

/**
 * Requests beside those of resources. No server of the package has any: what of the transport can
 * only be seen through tools and prompts is tested with a table of them.
 */
export interface ExtraMethods {
  /** What `server/discover` says of them. */
  readonly capabilities: Readonly<Record<string, object>>
  readonly methods: ReadonlyMap<string, ExtraMethod>
}

export interface ExtraMethod {
  /** The members of the result that are its own. */
  run(params: JsonObject): object
  /** Capabilities that the client must declare with this request. */
  requires?(params: JsonObject): JsonObject
}
