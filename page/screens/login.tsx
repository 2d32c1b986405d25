import { useSignal } from '@preact/signals'
import type { Live } from '../live/live.ts'

/** Shown while the server asks for a key. */
export function LoginScreen({ live }: { live: Live }) {
  const key = useSignal('')
  const failure = useSignal<string | null>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    failure.value = null
    try {
      await live.login?.useKey(key.value)
    } catch (error) {
      failure.value = (error as Error).message
    }
    key.value = ''
  }
  return (
    <section class="card login-card">
      <h2 class="title">This server asks for a login</h2>
      <p>
        Run <code>service-cli page</code> on the machine of the server and open the link that it
        prints. It works once.
      </p>
      <form class="grid" onSubmit={submit}>
        <label>
          Or type an API key of this server
          <input
            type="password"
            autocomplete="off"
            required
            value={key.value}
            onInput={event => (key.value = event.currentTarget.value)}
          />
        </label>
        <button class="primary">Log in</button>
      </form>
      {failure.value !== null && (
        <p class="failure" role="alert">
          {failure.value}
        </p>
      )}
    </section>
  )
}
