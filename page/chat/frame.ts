import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Bridge, HostContext } from './bridge.ts'

/** A part of a chat, not a page: what is longer scrolls inside. */
const maxHeight = 640

/** Is the frame on the screen? False once the chat has ended the view. */
export function followShown(isEnded: ReadonlySignal<boolean>): ReadonlySignal<boolean> {
  const isTabShown = signal(!document.hidden)
  document.addEventListener('visibilitychange', () => (isTabShown.value = !document.hidden))
  // A chat keeps the views of earlier answers, scrolled away.
  const isInView = signal(false)
  const observer = new IntersectionObserver(entries => {
    isInView.value = entries.at(-1)?.isIntersecting === true
  })
  observer.observe(document.documentElement)
  return computed(() => isTabShown.value && isInView.value && !isEnded.value)
}

/** Takes colours and fonts from the chat, and tells it the height of `content`. */
export function fitIn(bridge: Bridge, first: HostContext, content: HTMLElement): void {
  let most = maxHeight
  const applyContext = ({ theme, styles, containerDimensions }: HostContext): void => {
    const { style } = document.documentElement
    if (theme !== undefined) style.colorScheme = theme
    for (const [name, value] of Object.entries(styles?.variables ?? {})) {
      if (name.startsWith('--') && value !== undefined) style.setProperty(name, value)
    }
    if (containerDimensions !== undefined) {
      most = Math.min(maxHeight, containerDimensions.maxHeight ?? maxHeight)
    }
  }
  const notifySize = (): void => {
    const height = Math.min(most, Math.ceil(content.getBoundingClientRect().height))
    bridge.notify('ui/notifications/size-changed', { height })
  }
  applyContext(first)
  bridge.on('ui/notifications/host-context-changed', params => {
    applyContext(params as HostContext)
    notifySize()
  })
  new ResizeObserver(notifySize).observe(content)
}
