import type { ResourceLimits } from '../limits.ts'
import {
  exceedsDepth,
  isJsonObject,
  parseJson,
  wellFormedJson,
  maxJsonDepth,
} from '../../../lib/util/json.ts'
import { finiteJsonText, NumberError, refuseNonFinite } from '../../../lib/host-link/finite-json.ts'
import { jsonFault } from '../../../lib/mcp/json-fault.ts'

export type SceneLimits = Pick<ResourceLimits, 'maxMessageBytes'>

/** The scene as JSON text, or a `TypeError` that says what is wrong with it. */
export function serialiseScene(scene: unknown, limits: SceneLimits): string {
  if (!isJsonObject(scene)) throw notAnObject()
  let text: unknown
  try {
    text = finiteJsonText(scene)
  } catch (cause) {
    throw cause instanceof NumberError ? ofScene(cause) : notSerialisable(cause)
  }
  // `toJSON` may have turned the object into anything.
  if (typeof text !== 'string' || !text.startsWith('{')) throw notAnObject()
  checkBytes(text, limits)
  if (exceedsDepth(text, maxJsonDepth)) throw tooDeep()
  return text
}

/** Checks a scene that is JSON text already, and returns it well-formed; `null` when it says so. */
export function checkSceneText(given: unknown, limits: SceneLimits): string | null {
  if (typeof given !== 'string') throw new TypeError('scene text must be a string of JSON')
  const text = wellFormedJson(given)
  checkBytes(text, limits)
  const parsed = parseJson(text, maxJsonDepth)
  if (!parsed.ok) {
    if (parsed.failure === 'depth') throw tooDeep()
    throw new TypeError(`scene is not valid JSON: ${jsonFault(text)}`)
  }
  if (parsed.value === null) return null
  if (!isJsonObject(parsed.value)) throw notAnObject()
  // Parsing turns a number beyond the range into Infinity.
  if (hugeNumber.test(text)) {
    try {
      refuseNonFinite(parsed.value)
    } catch (cause) {
      throw ofScene(cause as NumberError)
    }
  }
  return text
}

/** What every number beyond the range has; other texts may have it, too. */
const hugeNumber = /[eE]\+?\d{3}|\d{200}/

function ofScene(cause: NumberError): TypeError {
  return new TypeError(`scene ${cause.message}`)
}

function checkBytes(text: string, limits: SceneLimits): void {
  const bytes = Buffer.byteLength(text)
  if (bytes > limits.maxMessageBytes) {
    throw new TypeError(
      `scene has ${bytes} bytes of JSON, at most ${limits.maxMessageBytes} are taken`,
    )
  }
}

function notAnObject(): TypeError {
  return new TypeError('scene must be a JSON object, or null to clear it')
}

function notSerialisable(cause: unknown): TypeError {
  const what =
    cause instanceof RangeError
      ? 'it is nested too deeply'
      : 'it refers to itself, or holds a value without a JSON form'
  return new TypeError(`scene cannot be written as JSON: ${what}`, { cause })
}

function tooDeep(): TypeError {
  return new TypeError(`scene is nested deeper than ${maxJsonDepth} levels`)
}
