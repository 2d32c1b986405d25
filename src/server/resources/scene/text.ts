import { readJson, warningsOf, withWarnings } from '../../../lib/host-link/read-json.ts'
import { exceedsDepth, isJsonObject, maxJsonDepth, wellFormedJson } from '../../../lib/util/json.ts'

const notAnObject = 'scene must be a JSON object, or null to clear it'

/** The scene as JSON text, or a `TypeError` that says what is wrong with it. */
export function serialiseScene(scene: unknown, maxBytes: number): string {
  if (!isJsonObject(scene)) throw new TypeError(notAnObject)
  let text: unknown
  try {
    text = JSON.stringify(scene)
  } catch (cause) {
    throw new TypeError('scene has no JSON form', { cause })
  }
  // `toJSON` may have turned the object into anything.
  if (typeof text !== 'string' || !text.startsWith('{')) throw new TypeError(notAnObject)
  if (exceedsDepth(text, maxJsonDepth)) {
    throw new TypeError(`scene is nested deeper than ${maxJsonDepth} levels`)
  }
  // Only a text with a null needs the slow look.
  const warnings = text.includes('null') ? warningsOf(scene) : []
  return sized(withWarnings(wellFormedJson(text), warnings), maxBytes)
}

/** Checks a scene that is JSON text already, and returns it well-formed; null when it says so. */
export function checkSceneText(given: unknown, maxBytes: number): string | null {
  if (typeof given !== 'string') throw new TypeError('scene text must be a string of JSON')
  sized(given, maxBytes)
  try {
    const { text, value, warnings } = readJson(given)
    if (value === null) return null
    if (isJsonObject(value)) return withWarnings(text, warnings)
  } catch (error) {
    throw new TypeError(`scene ${(error as TypeError).message}`)
  }
  throw new TypeError(notAnObject)
}

function sized(text: string, maxBytes: number): string {
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxBytes) return text
  throw new TypeError(`scene has ${bytes} bytes of JSON, at most ${maxBytes} are taken`)
}
