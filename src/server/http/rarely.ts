/** Runs `act` at most once in `everyMs`; what comes in between is left out. */
export function rarely<Argument>(
  everyMs: number,
  act: (argument: Argument) => void,
  nowMs: () => number = () => performance.now(),
): (argument: Argument) => void {
  let lastMs = -Infinity
  return argument => {
    const now = nowMs()
    if (now - lastMs < everyMs) return
    lastMs = now
    act(argument)
  }
}
