import type { Live } from '../live/live.ts'
import { waitsForPerson } from '../live/notes.ts'
import { Ago } from './small.tsx'

/** How many answers wait for the person. */
export function NotesBadge({ live }: { live: Live }) {
  const waiting = live.notes.value?.rows.filter(waitsForPerson).length ?? 0
  if (waiting === 0) return null
  return (
    <span class="badge">
      {waiting}
      <span class="unseen"> answered, your turn</span>
    </span>
  )
}

const words = {
  connecting: 'Connecting',
  live: 'Live',
  waiting: 'No scene',
  old: 'Not live',
  lost: 'Connection lost',
  login: 'Login needed',
} as const

/** Whether what is shown is live. */
export function ConnectionState({ live }: { live: Live }) {
  const { kind } = live.carrier.connection.value
  const shown = kind === 'live' ? sceneState(live.scene) : kind
  return (
    <span class={`connection ${shown}`} role="status">
      {words[shown]}
    </span>
  )
}

/** The server is there, and the application may be gone, busy, or share nothing. */
function sceneState({ meta, summary }: Live['scene']): 'live' | 'old' | 'waiting' {
  const application = meta.value?.application
  if (summary.value?.status === 'no_snapshot') return 'waiting'
  return application?.connected === false || application?.as_of !== undefined ? 'old' : 'live'
}

/** Nothing below it is live. */
export function LostNotice({ live }: { live: Live }) {
  const connection = live.carrier.connection.value
  if (connection.kind !== 'lost') return null
  return (
    <p class="notice warning" role="alert">
      Connection lost <Ago at={connection.sinceMs} />: {connection.reason}. What you see is from
      before; it connects again by itself.
    </p>
  )
}
