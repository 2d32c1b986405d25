import { isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'

/** What a client wants to be told, as far as this server has it. */
export interface Filter {
  readonly listChanged: boolean
  /** As written; null when the client asks for none. Not yet known to be URIs. */
  readonly uris: readonly string[] | null
}

const switches = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const

/** The filter in the params of `subscriptions/listen`. The failure is a text for the client. */
export function parseFilter({ notifications }: JsonObject): Result<Filter, string> {
  if (!isJsonObject(notifications)) return fail('"notifications" must be an object')
  const wrong = switches.find(name => !isSwitch(notifications[name]))
  if (wrong !== undefined) return fail(`"notifications.${wrong}" must be true or false`)
  const { resourcesListChanged, resourceSubscriptions: uris } = notifications
  if (uris !== undefined && !isTexts(uris)) {
    return fail('"notifications.resourceSubscriptions" must be an array of URIs')
  }
  return ok({ listChanged: resourcesListChanged === true, uris: uris ?? null })
}

function isSwitch(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}
