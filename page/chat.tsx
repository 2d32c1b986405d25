import { type ReadonlySignal, signal, useSignal } from '@preact/signals'
import { type ComponentChildren, render } from 'preact'
import { Bridge } from './chat/bridge.ts'
import { createBridgeCarrier } from './chat/bridge-carrier.ts'
import { fitIn, followShown } from './chat/frame.ts'
import { createLive, type Live } from './live/live.ts'
import { ConnectionState, LostNotice, NotesBadge } from './parts/top.tsx'
import { NotesScreen } from './screens/notes.tsx'
import { NowScreen } from './screens/now.tsx'

type Screen = 'now' | 'notes'

interface ChatProps {
  readonly live: Live
  readonly first: Screen
  readonly isEnded: ReadonlySignal<boolean>
}

/** The live view inside of a chat: it only reads. */
function Chat({ live, first, isEnded }: ChatProps) {
  const chosen = useSignal(first)
  if (isEnded.value) return <p class="quiet">The chat has closed this view.</p>
  const { connection, schemes } = live.carrier
  const hasNotes = schemes.value.has('notes')
  const shown = hasNotes ? chosen.value : 'now'
  const tab = (id: Screen, children: ComponentChildren) => (
    <button
      type="button"
      aria-current={id === shown ? 'page' : undefined}
      onClick={() => (chosen.value = id)}
    >
      {children}
    </button>
  )
  return (
    <>
      <header class="top">
        {hasNotes && (
          <nav aria-label="Screens">
            {tab('now', 'Now')}
            {tab('notes', ['Notes', <NotesBadge live={live} />])}
          </nav>
        )}
        <ConnectionState live={live} />
      </header>
      <LostNotice live={live} />
      <main class={connection.value.kind === 'lost' ? 'stale' : ''}>
        <h1 class="unseen">Live view</h1>
        {shown === 'now' ? <NowScreen live={live} /> : <NotesScreen live={live} />}
      </main>
    </>
  )
}

async function open(app: HTMLElement): Promise<void> {
  const bridge = new Bridge(window.parent)
  const isEnded = signal(false)
  bridge.on('ui/resource-teardown', () => (isEnded.value = true))
  const context = await bridge.initialize()
  fitIn(bridge, context, app)
  const carrier = createBridgeCarrier(bridge, followShown(isEnded))
  const first = context.toolInfo?.tool?.name === 'list_notes' ? 'notes' : 'now'
  app.textContent = ''
  render(<Chat live={createLive(carrier, null)} first={first} isEnded={isEnded} />, app)
}

const app = document.getElementById('app')!
open(app).catch((error: Error) => (app.textContent = error.message))
