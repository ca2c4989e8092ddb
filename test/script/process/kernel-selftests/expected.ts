/** What is expected of each of Linux' own tests inside of a script's confinement. */

/**
 * `refused`: the confinement refuses a call that the test needs, so the test cannot run to its end. `sign` is what its output
 * then shows. `passes`: the test runs to its end, and everything is allowed or refused as it expects. `skips`: the test itself
 * finds that it cannot run here.
 */
export type Expectation = {
  /** Names of tests after the program's, such as `fs_test layout1.inval`. */
  tests: RegExp;
  outcome: 'refused' | 'passes' | 'skips';
  /** Why it is refused, and the sign of that. */
  why?: string;
  sign?: RegExp;
};

const refused = (tests: RegExp, why: string, sign: RegExp): Expectation => ({
  tests,
  outcome: 'refused',
  why,
  sign,
});

/** A browser's own sandbox needs user and process namespaces, so programs that may start one get them. */
export const withBrowserSandbox: readonly Expectation[] = [
  { tests: /^seccomp_bpf global\.user_notification_(child_pid_ns|fault_recv)$/, outcome: 'passes' },
];

/** The first one that names a test counts. */
export const expectations: readonly Expectation[] = [
  // Landlock.
  refused(
    /^base_test global\.abi_version$/,
    'a kernel with another version of Landlock',
    /RULESET_VERSION\) \(\d+\)/,
  ),
  refused(
    /^base_test global\.restrict_self_checks_ordering$/,
    'no_new_privs is set already',
    /Expected EPERM \(1\) == errno/,
  ),
  refused(
    /^base_test global\.(ruleset_fd_transfer|cred_transfer)$/,
    'the root folder cannot be listed',
    /<= dir_fd \(-1\)/,
  ),
  refused(
    /^fs_test ioctl\.(handled_i_allowed_i|unhandled)\.handle_(dir|file)_access_file$/,
    'no commands for devices',
    /test_fionread_ioctl\(file_fd\) \(13\)/,
  ),
  { tests: /^fs_test layout3_fs\.hostfs\./, outcome: 'skips' },
  refused(/^fs_test (layout|ftruncate)/, 'no capabilities, and no mounts', /cap_set_proc\(cap_p\) \(-1\)/),
  refused(/^net_test /, 'no capabilities, and no network namespaces', /cap_set_proc\(cap_p\) \(-1\)/),
  refused(
    /^ptrace_test hierarchy\.(allow_with(out|_one)_domain|deny_with_(parent|sibling)_domain)\./,
    'no ptrace',
    /ptrace_test\.c:\d+:trace:Expected (0 \(0\) == ret \(-1\)|ESRCH \(3\) == errno \(1\))/,
  ),
  refused(
    /^scoped_signal_test global\.signal_scoping_thread_setuid$/,
    'no other users',
    /setuid\(arg\.new_uid\) \(-1\)/,
  ),
  refused(
    /^scoped_signal_test global\.sigio_to_pgid_(members|self)$/,
    'no owners of descriptors',
    /F_SETSIG, SIGURG\) \(-1\)|THREAD_SUCCESS \(1\) == ret \(2\)/,
  ),
  // seccomp.
  refused(/^seccomp_bpf global\.kcmp$/, 'no comparison of processes', /kcmp:Expected ret \(-1\) == 0/),
  refused(
    /^seccomp_bpf global\.mode_(strict_support|strict_cannot_call_prctl|filter_get_seccomp)$/,
    'a filter is installed already',
    /Expected 0 \(0\) == ret \((-1|2)\)/,
  ),
  refused(
    /^seccomp_bpf global\.mode_filter_without_nnp$/,
    'no_new_privs is set already',
    /Expected (-1 \(-1\) == ret|EACCES \(13\) == errno) \(0\)/,
  ),
  refused(/^seccomp_bpf global\.syscall_restart$/, 'no ptrace', /PTRACE_TRACEME\) \(-1\)/),
  {
    tests:
      /^seccomp_bpf global\.(get_metadata|user_notification_sibling_pid_ns|user_notification_addfd_send_interrupted)$/,
    outcome: 'skips',
  },
  refused(
    /^seccomp_bpf global\.user_notification_(child_pid_ns|fault_recv)$/,
    'no namespaces',
    /unshare\(CLONE_NEWUSER.*\) \(-1\)/,
  ),
  refused(
    /^seccomp_bpf global\.user_(notification_continue|notification_addfd)$/,
    'no comparison of processes',
    /filecmp\(.*\) \(-1\)/,
  ),
  refused(
    /^seccomp_bpf global\.user_(ioctl_)?notification_filter_empty(_threaded)?$/,
    'no clone3',
    /Expected pid \(-1\) >= 0/,
  ),
  refused(/^seccomp_bpf TRACE_(poke|syscall)\./, 'no ptrace', /endless/),
  refused(
    /^seccomp_bpf TSYNC\.two_sibling_want_nnp$/,
    'no_new_privs is set already',
    /Expected SIBLING_EXIT_NEWPRIVS/,
  ),
  refused(/^seccomp_bpf O_SUSPEND_SECCOMP\.setoptions$/, 'no ptrace', /PTRACE_ATTACH.*\(-1\)/),
  { tests: /^/, outcome: 'passes' },
];

/** Steps in which a test gives up rights that the confined program does not have: that they fail changes nothing. */
const preparations = /cap_set_secbits\(noroot\) \(-1\)$/;

/** Calls that a test expects to be refused and that are allowed: `Expected EACCES (13) == test_open(…) (0)`. */
export const breachesIn = (output: string): string[] =>
  failuresIn(output).filter((line) => /Expected (E[A-Z]+ \(\d+\)|-1 \(-1\)) == .* \(0\)$/.test(line));

const failuresIn = (output: string): string[] =>
  output.split('\n').filter((line) => line.includes(':Expected ') && !preparations.test(line));

/** What became of a test, by its output. */
export function outcomeOf(output: string): Expectation['outcome'] {
  if (/^ok \d+ .* # SKIP/m.test(output)) return 'skips';
  if (/^ok /m.test(output)) return 'passes';
  const isAtItsEnd = /^not ok /m.test(output) && !/Test terminated/.test(output);
  return isAtItsEnd && failuresIn(output).length === 0 ? 'passes' : 'refused';
}
