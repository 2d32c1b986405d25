import { posix, win32 } from 'node:path'
import type { ClientFile, Place } from './client.ts'

/** A file in the working folder. */
export function projectFile(place: Place, ...names: string[]): ClientFile {
  return fileIn(place, place.cwd, names)
}

/** A file in the home folder, or in the folder that a variable names. */
export function homeFile(
  place: Place,
  names: string[],
  override?: { variable: string; names: string[] },
): ClientFile {
  const chosen = override === undefined ? null : absoluteFrom(place, override.variable)
  if (chosen === null || override === undefined) return fileIn(place, place.home, names)
  return fileIn(place, chosen, override.names)
}

/** The file that a variable names, or null. */
export function namedFile(place: Place, variable: string): ClientFile | null {
  const path = absoluteFrom(place, variable)
  return path === null ? null : { root: pathOf(place).dirname(path), path }
}

/**
 * A file in the settings folder of desktop programs: `~/Library/Application Support`, `%APPDATA%`,
 * or `$XDG_CONFIG_HOME`, by default `~/.config`.
 */
export function settingsFile(place: Place, ...names: string[]): ClientFile {
  const { platform, home } = place
  if (platform === 'darwin') {
    return fileIn(place, home, ['Library', 'Application Support', ...names])
  }
  if (platform === 'win32') {
    const roaming = absoluteFrom(place, 'APPDATA')
    if (roaming !== null) return fileIn(place, roaming, names)
    return fileIn(place, home, ['AppData', 'Roaming', ...names])
  }
  return homeFile(place, ['.config', ...names], { variable: 'XDG_CONFIG_HOME', names })
}

function fileIn(place: Place, root: string, names: string[]): ClientFile {
  return { root, path: pathOf(place).join(root, ...names) }
}

/** Ignores a relative path: clients resolve it differently. */
function absoluteFrom(place: Place, variable: string): string | null {
  const value = place.env[variable]
  return value !== undefined && pathOf(place).isAbsolute(value) ? value : null
}

function pathOf({ platform }: Place): typeof posix {
  return platform === 'win32' ? win32 : posix
}
