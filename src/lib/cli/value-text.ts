import { cleanText } from '../util/clean-text.ts'
import { isJsonObject } from '../util/json.ts'

/**
 * A JSON value in at most `most` characters of one line, safe on a terminal. Only as much of it is
 * looked at as is shown: it may be a scene of megabytes.
 */
export function valueText(value: unknown, most: number): string {
  const parts: string[] = []
  write(value, { left: most + 1, parts })
  return cleanText(parts.join(''), most)
}

interface Room {
  left: number
  readonly parts: string[]
}

function write(value: unknown, room: Room): void {
  if (room.left <= 0) return
  if (Array.isArray(value)) {
    put(room, '[')
    for (let at = 0; at < value.length && room.left > 0; at++) {
      if (at > 0) put(room, ', ')
      write(value[at], room)
    }
    return put(room, ']')
  }
  if (!isJsonObject(value)) return put(room, scalarText(value, room.left))
  put(room, '{')
  let first = true
  for (const name in value) {
    if (room.left <= 0) return
    put(room, `${first ? '' : ', '}${cut(name, room.left)}: `)
    first = false
    write(value[name], room)
  }
  put(room, '}')
}

function put(room: Room, text: string): void {
  room.parts.push(text)
  room.left -= text.length
}

function scalarText(value: unknown, left: number): string {
  return typeof value === 'string' ? JSON.stringify(cut(value, left)) : String(value)
}

function cut(text: string, most: number): string {
  return text.length > most ? text.slice(0, most) : text
}
