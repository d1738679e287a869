/**
 * Runs in the sandbox as Python's main script, before the run is known and after PID 1 has locked down. All of it is in
 * one function, so that __main__ is as empty as at a cold start when the skill's code gets it.
 */
export const PYTHON_BOOT = `\
def boot():
    import sys
    cold = set(sys.modules)
    import os
    import atexit, gc
    os.write(3, b'R')
    # Until the run comes, whatever it may want; a run that is here already loads what it wants itself.
    os.set_blocking(3, False)
    def prepare():
        # Nothing here may end the interpreter: it counts as up, and a small Python lacks half of these.
        try:
            # Once for nothing, so that the pages of what is to come are in memory.
            with open(__file__, 'rb') as file:
                exec(compile(b'import sys\\n', os.path.realpath(__file__), 'exec', dont_inherit=True), {})
            os.listdir(os.path.dirname(__file__))
        except Exception:
            pass
        for name in ('json', 're', 'collections', 'functools', 'pathlib', 'datetime', 'typing', 'subprocess', 'urllib.parse', 'csv'):
            try:
                __import__(name)
            except Exception:
                pass
            yield
        # Left alone until the end: what was loaded ahead is not taken apart piece by piece when the interpreter exits.
        gc.collect()
        gc.freeze()
        os.set_blocking(3, True)
        yield
    steps = prepare()
    while True:
        try:
            os.read(3, 1)
            break
        except BlockingIOError:
            next(steps)
    steps.close()
    os.close(3)
    with open(4, 'rb', 0) as run:
        words = run.read().split(b'\\0')
    if len(words) < 4:
        os._exit(125)
    count = int(words[1])
    argv = [os.fsdecode(word) for word in words[2:2 + count]]
    os.environ.clear()
    for entry in words[2 + count:-1]:
        name, _, value = entry.partition(b'=')
        os.environb[name] = value
    try:
        os.chdir(words[0])
    except OSError as error:
        os.write(2, b'skillbox: cannot enter %s: %s\\n' % (words[0], error.strerror.encode()))
        os._exit(126)
    at = 1
    while argv[at].startswith('-'):
        at += 1
    script = argv[at]
    sys.orig_argv[:] = argv
    sys.argv[:] = argv[at:]
    first = []
    if not sys.flags.ignore_environment and 'PYTHONPATH' in os.environ:
        first = os.environ['PYTHONPATH'].split(':')
        # site would have imported these before the script; only a start can.
        if any(not d or os.path.exists(os.path.join(d, m)) for d in first for m in ('sitecustomize.py', 'sitecustomize', 'usercustomize.py', 'usercustomize')):
            os.execve(argv[0], argv, os.environ)
    if sys.flags.isolated:
        sys.path[:0] = first
    else:
        sys.path[0:1] = [os.path.dirname(os.path.realpath(script)), *first]
        first = [sys.path[0], *first]
    # What the skill calls json is its own json, as at a cold start.
    extra = set(sys.modules) - cold
    found = set()
    for directory in first:
        try:
            found.update(name.partition('.')[0] for name in os.listdir(directory))
        except OSError:
            pass
    if not found.isdisjoint(extra):
        for name in extra:
            del sys.modules[name]
    try:
        with open(script, 'rb') as file:
            source = file.read()
    except OSError as error:
        os.write(2, ("%s: can't open file %r: [Errno %d] %s\\n" % (argv[0], script, error.errno, error.strerror)).encode())
        os._exit(2)
    # A module of its own: the one of this file is frozen, and what it held would never be finalized.
    fresh = type(sys)('__main__')
    main = fresh.__dict__
    main.update(sys.modules['__main__'].__dict__)
    del main['boot']
    sys.modules['__main__'] = fresh
    del fresh
    main['__file__'] = script
    main['__loader__'] = type(main['__loader__'])('__main__', script)
    status = 0
    try:
        exec(compile(source, script, 'exec', dont_inherit=True), main)
    except SystemExit as error:
        status = 0 if error.code is None else error.code
        if type(status) is not int:
            raise
    except BaseException as error:
        trace = error.__traceback__.tb_next  # without this frame
        error.__traceback__ = trace
        sys.excepthook(type(error), error, trace)
        # It has been told, and the interpreter ends as for any other. Not a lambda: that would keep __main__ alive.
        sys.excepthook = ''.format
        raise
    # The interpreter takes longer to take itself apart than most scripts to run. Where only the skill's own Python code
    # could tell, what it can tell is done here: exit functions, the end of its objects, the flush of its streams.
    library = os.path.dirname(os.__file__) + '/'
    later = [module for name, module in sys.modules.items() if name not in cold and name not in extra]
    files = [getattr(module, '__file__', None) or library for module in later]
    if len(sys._current_frames()) == 1 and 'ctypes' not in sys.modules and 'readline' not in sys.modules \\
            and all(file.endswith('.py') or file.startswith(library) for file in files):
        atexit._run_exitfuncs()
        own = [module for module, file in zip(later, files) if not file.startswith(library)]
        for module in [sys.modules['__main__'], *reversed(own)]:
            names = getattr(module, '__dict__', {})
            for private in (True, False):
                for name in list(names):
                    if name != '__builtins__' and private == (name[0] == '_' and name[1:2] != '_'):
                        names[name] = None
            gc.collect()
        try:
            for stream in {sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__} - {None}:
                stream.flush()
            os._exit(status & 0xff)
        except Exception:
            pass  # the interpreter tells what is wrong with its streams
    sys.exit(status)


boot()
`;
