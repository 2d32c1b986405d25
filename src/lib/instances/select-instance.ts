import type { InstanceRecord } from './record.ts'

export type Named = Pick<InstanceRecord, 'instance_id' | 'dcc_type' | 'display_name' | 'scene'>

/** A shorter beginning of an id names by accident. */
export const minPrefixChars = 4

/**
 * The instances whose id is or begins with `word` (hyphens do not count) or that are of the kind
 * `word`, else those with that name or document; without a word all there are. Case does not count.
 */
export function selectInstances<One extends Named>(
  instances: One[],
  word: string | undefined,
): One[] {
  if (word === undefined) return instances
  const wanted = plainId(word)
  const exact = instances.filter(({ instance_id: id }) => plainId(id) === wanted)
  if (exact.length > 0) return exact
  const long = wanted.length >= minPrefixChars
  const lower = word.toLowerCase()
  const named = instances.filter(
    ({ instance_id: id, dcc_type: type }) =>
      type.toLowerCase() === lower || (long && plainId(id).startsWith(wanted)),
  )
  if (named.length > 0) return named
  return instances.filter(instance => namesOf(instance).includes(lower))
}

/** Whether the word names this instance, and not a kind of instances. */
export function namesId({ instance_id: id }: Named, word: string | undefined): boolean {
  const wanted = plainId(word ?? '')
  return wanted.length >= minPrefixChars && plainId(id).startsWith(wanted)
}

/** The first eight digits of an id, by which lists name an instance. */
export function shortId(instanceId: string): string {
  return plainId(instanceId).slice(0, 8)
}

/** In lower case: its name, and its document as a path, as a file, and without its ending. */
function namesOf({ display_name, scene }: Named): readonly string[] {
  const file = scene?.replace(/^.*[\\/]/s, '') ?? ''
  const names = [display_name, scene ?? '', file, file.replace(/\.[^.]*$/, '')]
  return names.filter(Boolean).map(name => name.toLowerCase())
}

/** As ids are compared: hyphens and case do not count. */
export function plainId(text: string): string {
  return text.toLowerCase().replaceAll('-', '')
}
