import { signal } from '@preact/signals'
import { render } from 'preact'
import { App } from './app.tsx'
import { createLive } from './live/live.ts'
import { createHttpCarrier } from './mcp/http-carrier.ts'
import { Login } from './mcp/login.ts'

const login = new Login()
/** Why the login link in the address could not be used. */
const failure = signal<string | null>(null)
// Without reloading the page when a link is pasted where it is open.
window.addEventListener('hashchange', () => void useLink())
await useLink()
const live = createLive(createHttpCarrier(login), login)
render(<App live={live} loginFailure={failure} />, document.getElementById('app')!)

/** Takes a one-time link out of the address and uses it. */
async function useLink(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get('login')
  if (code === null) return
  history.replaceState(null, '', location.pathname)
  try {
    await login.useCode(code)
    failure.value = null
  } catch (error) {
    await login.check().catch(() => {})
    // A link that is opened twice in one browser has done its work.
    failure.value = login.isLoggedIn.value ? null : (error as Error).message
  }
}
