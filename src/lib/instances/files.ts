import { join } from 'node:path'

/** The files of one instance in `<registry_dir>/instances`. */

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const record = new RegExp(`^(${uuid})\\.json$`)
const stray = new RegExp(`^(${uuid})\\.(token|json\\.\\d+\\.tmp)$`)

export function recordFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.json`)
}

/** Where the generated token of an instance lies. */
export function tokenFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.token`)
}

/** The instance whose record has this file name, or null. */
export function idOfRecord(fileName: string): string | null {
  return record.exec(fileName)?.[1] ?? null
}

/** The instance whose token, or half-written record, has this file name, or null. */
export function idOfStray(fileName: string): string | null {
  return stray.exec(fileName)?.[1] ?? null
}
