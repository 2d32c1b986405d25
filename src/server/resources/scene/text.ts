import { exceedsDepth, isJsonObject, maxJsonDepth, wellFormedJson } from '../../../lib/util/json.ts'
import { finiteJsonText, NumberError, refuseNonFinite } from '../../../lib/host-link/finite-json.ts'
import { jsonFault } from '../../../lib/mcp/json-fault.ts'

const notAnObject = 'scene must be a JSON object, or null to clear it'

/** The scene as JSON text, or a `TypeError` that says what is wrong with it. */
export function serialiseScene(scene: unknown, maxBytes: number): string {
  if (!isJsonObject(scene)) throw new TypeError(notAnObject)
  let text: unknown
  try {
    text = finiteJsonText(scene)
  } catch (cause) {
    if (cause instanceof NumberError) throw new TypeError(`scene ${cause.message}`)
    throw new TypeError('scene has no JSON form', { cause })
  }
  // `toJSON` may have turned the object into anything.
  if (typeof text !== 'string' || !text.startsWith('{')) throw new TypeError(notAnObject)
  checkSize(text, maxBytes)
  return text
}

/** Checks a scene that is JSON text already, and returns it well-formed; `null` when it says so. */
export function checkSceneText(given: unknown, maxBytes: number): string | null {
  if (typeof given !== 'string') throw new TypeError('scene text must be a string of JSON')
  const text = wellFormedJson(given)
  checkSize(text, maxBytes)
  let scene: unknown
  try {
    scene = JSON.parse(text)
  } catch {
    throw new TypeError(`scene is not valid JSON: ${jsonFault(text)}`)
  }
  if (scene === null) return null
  if (!isJsonObject(scene)) throw new TypeError(notAnObject)
  // Parsing turns a number beyond the range into Infinity.
  if (hugeNumber.test(text)) {
    try {
      refuseNonFinite(scene)
    } catch (cause) {
      throw new TypeError(`scene ${(cause as NumberError).message}`)
    }
  }
  return text
}

/** What every number beyond the range has; other texts may have it, too. */
const hugeNumber = /[eE]\+?\d{3}|\d{200}/

function checkSize(text: string, maxBytes: number): void {
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes)
    throw new TypeError(`scene has ${bytes} bytes of JSON, at most ${maxBytes} are taken`)
  if (exceedsDepth(text, maxJsonDepth)) {
    throw new TypeError(`scene is nested deeper than ${maxJsonDepth} levels`)
  }
}
