/**
 * The longest wait of `wait_for_change`, in seconds. MCP clients commonly give up after 60 s. A
 * program that passes such a call on waits longer than this for the answer.
 */
export const longestWaitSeconds = 45
