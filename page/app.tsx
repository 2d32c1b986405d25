import { type ReadonlySignal, signal, useComputed } from '@preact/signals'
import type { JSX } from 'preact'
import type { Live } from './live/live.ts'
import { ConnectScreen } from './screens/connect.tsx'
import { FilesScreen } from './screens/files.tsx'
import { InstancesScreen } from './screens/instances.tsx'
import { LoginScreen } from './screens/login.tsx'
import { NotesScreen } from './screens/notes.tsx'
import { NowScreen } from './screens/now.tsx'
import { SceneScreen } from './screens/scene.tsx'
import { Action, Empty } from './parts/small.tsx'
import { ConnectionState, LostNotice, NotesBadge } from './parts/top.tsx'

interface Screen {
  readonly id: string
  readonly title: string
  /** The scheme without which there is nothing to show. */
  readonly scheme: string | null
  readonly show: (props: { live: Live }) => JSX.Element
}

const screens: readonly Screen[] = [
  { id: 'instances', title: 'Instances', scheme: 'gateway', show: InstancesScreen },
  { id: 'now', title: 'Now', scheme: 'scene', show: NowScreen },
  { id: 'scene', title: 'Scene', scheme: 'scene', show: SceneScreen },
  { id: 'notes', title: 'Notes', scheme: 'notes', show: NotesScreen },
  { id: 'files', title: 'Files', scheme: 'artefact', show: FilesScreen },
  { id: 'connect', title: 'Connect', scheme: null, show: ConnectScreen },
]

/** `#/` and the id of a screen. */
const route = signal(location.hash)
window.addEventListener('hashchange', () => {
  // Others are places on the screen.
  if (location.hash === '' || location.hash.startsWith('#/')) route.value = location.hash
})

interface AppProps {
  readonly live: Live
  readonly loginFailure: ReadonlySignal<string | null>
}

export function App({ live, loginFailure }: AppProps) {
  const { carrier } = live
  const shown = useComputed(() => {
    const served = carrier.schemes.value
    // Not known yet. A server without resources has none.
    if (served.size === 0 && carrier.connection.value.kind !== 'live') return []
    return screens.filter(({ scheme }) => scheme === null || served.has(scheme))
  })
  const current = shown.value.find(({ id }) => route.value === `#/${id}`) ?? shown.value[0]
  const { kind } = carrier.connection.value
  const isLogin = kind === 'login'
  return (
    <>
      <a class="unseen" href="#content">
        Skip to content
      </a>
      <header class="top">
        <span class="brand">service-cli</span>
        <nav aria-label="Screens">
          {!isLogin &&
            shown.value.map(({ id, title }) => (
              <a key={id} href={`#/${id}`} aria-current={id === current?.id ? 'page' : undefined}>
                {title}
                {id === 'notes' && <NotesBadge live={live} />}
              </a>
            ))}
        </nav>
        <ConnectionState live={live} />
        <LogOut live={live} />
      </header>
      {loginFailure.value !== null && (
        <p class="notice warning" role="alert">
          The link does not work: {loginFailure.value}. Run <code>service-cli page</code> for a new
          one.
        </p>
      )}
      {live.login?.hasEnded.value === true && (
        <p class="notice warning" role="alert">
          Your login has ended. Run <code>service-cli page</code> for a new link.
        </p>
      )}
      <LostNotice live={live} />
      <main id="content" tabIndex={-1} class={kind === 'lost' ? 'stale' : ''}>
        <h1 class="unseen">{isLogin ? 'Login' : (current?.title ?? 'service-cli')}</h1>
        {isLogin && <LoginScreen live={live} />}
        {!isLogin && (current ? <current.show live={live} /> : <Empty title="Connecting …" />)}
      </main>
    </>
  )
}

function LogOut({ live: { login } }: { live: Live }) {
  if (login?.isLoggedIn.value !== true) return null
  return <Action run={() => login.logOut()}>Log out</Action>
}
