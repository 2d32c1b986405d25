import type { Viewer } from '../../http/authentication.ts'
import { type Finding, InstanceDirectory, type InstanceEntry } from '../instance-directory.ts'

/**
 * The instances that one user may see, as a directory: those that are theirs, their team's, or for
 * all. Those of the gateway's own machine are for holders of its key. One that is hidden is gone, as
 * the user last saw it.
 */
export class VisibleInstances extends InstanceDirectory {
  /** The directory of all goes on. */
  readonly close: () => void
  readonly #viewer: Viewer

  constructor(all: InstanceDirectory, viewer: Viewer) {
    super()
    this.#viewer = viewer
    this.update(all.entries.map(entry => this.#findingOf(entry)))
    this.close = all.onChange(changes => {
      this.update(changes.map(({ entry, kind }) => this.#findingOf(entry, kind === 'gone')))
    })
  }

  #findingOf(entry: InstanceEntry, isGone = false): [id: string, Finding] {
    const { instance_id: instanceId } = entry.record
    if (!isGone) return [instanceId, sees(this.#viewer, entry) ? { entry } : { isHidden: true }]
    const seen = this.entryOf(instanceId)
    // As the user last saw it, and why it ended.
    return [instanceId, seen ? { ended: { ...seen, verdict: entry.verdict } } : {}]
  }
}

function sees(viewer: Viewer, { record: { joined } }: InstanceEntry): boolean {
  if (joined === undefined) return false
  if (joined.visibility === 'all' || joined.accountId === viewer.accountId) return true
  return joined.visibility === 'team' && joined.team !== null && joined.team === viewer.team
}
