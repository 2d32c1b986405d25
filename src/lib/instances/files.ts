import { join } from 'node:path'
import { uuidForm } from '../util/text.ts'

/** The files of one instance in `<registry_dir>/instances`. */

const record = new RegExp(`^(${uuidForm})\\.json$`)
const stray = new RegExp(`^(${uuidForm})\\.(token|owner|(?:json|token|owner)\\.[0-9a-f]+\\.tmp)$`)

export function recordFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.json`)
}

/** Where the generated token of an instance lies. */
export function tokenFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.token`)
}

/** Where the token lies with which commands of the same account use the server of an instance. */
export function ownerFile(instancesDir: string, instanceId: string): string {
  return join(instancesDir, `${instanceId}.owner`)
}

/** The instance whose record has this file name, or null. */
export function idOfRecord(fileName: string): string | null {
  return record.exec(fileName)?.[1] ?? null
}

/** The instance whose token, or a temporary file of these, has this file name, or null. */
export function idOfStray(fileName: string): string | null {
  return stray.exec(fileName)?.[1] ?? null
}
