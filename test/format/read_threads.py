#!/usr/bin/env python3
"""Reads and verifies the threads of a repository by what docs/format.md and docs/format-rules.md say: read_threads.py <repository>

It prints a line of JSON for each thread with a ref; what is wrong goes to stderr, with 1 as the exit code. It does not check schemas,
decisions of rules, texts of messages, authors, dates, ids of children, the user's files, and parents that nothing accounts for.
"""
import collections, decimal, functools, hashlib, itertools, json, os, re, struct, subprocess, sys
import xxhash

sys.setrecursionlimit(20000)
with open(os.path.dirname(os.path.abspath(__file__)) + '/../../fixtures/golden/built-in-schemas.json') as file: TYPES = json.load(file)
TEXTS = {'start': ('prompt', 'prompt.md'), 'step': ('content', 'output.md'), 'suspend': ('content', 'output.md'),
         'resume': ('answer', 'answer.md'), 'end': ('summary', 'summary.md')}
NO_TOTALS = dict.fromkeys(('usage', 'replaced', 'children', 'recorded', 'compacted', 'calling', 'reopened'))
NO_TURN = {'visits': 0, 'first': None, 'last': None, 'usage': None, 'replaced': None, 'children': None, 'waits': 0}
Node = collections.namedtuple('Node', 'hash type payload')
Place = collections.namedtuple('Place', 'commit start last totals')  # A checked commit, its start, the newest step, all totals
class Wrong(Exception): pass
UNREADABLE = (Wrong, KeyError, ValueError, TypeError, AttributeError, IndexError, StopIteration, RecursionError)
def expect(holds, *what):
    if not holds: raise Wrong(' '.join(map(str, what)))
def same(what, now, wanted): expect(now == wanted, what, 'is', now, 'and has to be', wanted)

# Nodes and hashes
def number_of(text):
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2 ** 53 else value
parse_json = functools.partial(json.loads, parse_int=number_of, parse_float=number_of)

def cbor_head(major, argument):
    if argument < 24: return bytes([major << 5 | argument])
    size = next(size for size in range(4) if argument < 1 << (8 << size))
    return bytes([major << 5 | 24 + size]) + argument.to_bytes(1 << size, 'big')
def cbor_float(value):
    for first, form in ((b'\xf9', '>e'), (b'\xfa', '>f')):
        try: packed = struct.pack(form, value)
        except OverflowError: continue
        is_written = form == '>f' or abs(value) >= 2 ** -14 or bin(int(abs(value) * 2 ** 24)).count('1') == 1
        if is_written and struct.unpack(form, packed)[0] == value: return first + packed
    return b'\xfb' + struct.pack('>d', value)
def cbor(value):
    if value is None or isinstance(value, bool): return {False: b'\xf4', True: b'\xf5', None: b'\xf6'}[value]
    if isinstance(value, int): return cbor_head(0, value) if value >= 0 else cbor_head(1, -1 - value)
    if isinstance(value, float): return cbor_float(value)
    if isinstance(value, str): return cbor_head(3, len(value.encode())) + value.encode()
    if isinstance(value, list): return cbor_head(4, len(value)) + b''.join(map(cbor, value))
    return cbor_head(5, len(value)) + b''.join(key + item for key, item in sorted((cbor(k), cbor(v)) for k, v in value.items()))

def base32(hash): return ''.join('0123456789ABCDEFGHJKMNPQRSTVWXYZ'[hash >> 5 * at & 31] for at in range(12, -1, -1))
def hash_of(type, payload):
    encoded = cbor(payload)
    if type == TYPES['meta-schema'] and base32(xxhash.xxh64_intdigest(encoded)) == type: return type
    return base32(xxhash.xxh64_intdigest(type.encode() + encoded))

def number_text(value):
    """As ECMAScript writes it, which RFC 8785 asks for."""
    if isinstance(value, int): return str(value)
    if value < 0: return '-' + number_text(-value)
    _, digits, exponent = decimal.Decimal(repr(value)).normalize().as_tuple()
    digits, point = ''.join(map(str, digits)), len(digits) + exponent
    if 0 < point <= 21: return digits + '0' * exponent if exponent >= 0 else f'{digits[:point]}.{digits[point:]}'
    if -6 < point <= 0: return '0.' + '0' * -point + digits
    return f'{digits[0]}{"." if digits[1:] else ""}{digits[1:]}e{point - 1:+d}'

def canonical(value, line='\n'):
    inner = line + '  '
    if isinstance(value, list) and value: return '[' + ','.join(inner + canonical(item, inner) for item in value) + line + ']'
    if isinstance(value, dict) and value:
        keys = sorted(value, key=lambda key: key.encode('utf-16-be'))
        return '{' + ','.join(f'{inner}{canonical(key)}: {canonical(value[key], inner)}' for key in keys) + line + '}'
    return number_text(value) if type(value) in (int, float) else json.dumps(value, ensure_ascii=False)

def decode_node(hash, blob):
    text = blob.decode()
    if hash_of(TYPES['content'], {'text': text}) == hash: return Node(hash, TYPES['content'], {'text': text})
    node = parse_json(text) if text.startswith('{') else {}
    is_node = node.keys() == {'type', 'payload'} and hash_of(node['type'], node['payload']) == hash
    expect(is_node, 'neither the text nor the JSON of a blob has the hash', hash, 'that the index says')
    is_text = node['type'] == TYPES['content'] and node['payload'].keys() == {'text'}
    expect(not is_text and canonical(node) + '\n' == text, 'the blob of the node', hash, 'is not in its canonical form')
    return Node(hash, **node)

# Totals
def add(total, more):
    if not more or not total: return more or total
    summed = {name: total[name] + more[name] for name in ('inputTokens', 'outputTokens', 'turns')}
    for name in ('costUsd', 'cacheReadTokens', 'cacheWriteTokens'):
        if name in total or name in more: summed[name] = total.get(name, 0) + more.get(name, 0)
    unpriced = [one for one in (total, more) if 'costUsd' not in one and one['inputTokens'] + one['outputTokens'] > 0]
    if 'isAtLeast' in total or 'isAtLeast' in more or 'costUsd' in summed and unpriced: summed['isAtLeast'] = True
    return summed
def add_all(usages): return functools.reduce(add, usages, None)

def totals_after(commit, before, replaced):
    """What all commits up to one come to; `replaced` are the nodes of the steps that it replaces, the newest first."""
    node, kind = commit.node, commit.kind
    if kind == 'start': return {'start': commit.id, 'steps': 0, 'roles': {}, 'more': {}, 'skips': [], **NO_TOTALS}
    after = {**before, 'roles': dict(before['roles'])}
    def of_role(role, **changes):
        own = after['roles'].get(role, NO_TURN)
        after['roles'][role] = {**own, **{name: change(own[name]) for name, change in changes.items()}}
    if kind == 'resume':
        after['more'] = {**before['more'], **{name: before['more'].get(name, 0) + more for name, more in node.get('more', {}).items() if more}}
        if len(commit.parents) > 1: after['reopened'] = {'commit': commit.id, 'number': before['steps']}
    if kind in ('step', 'suspend'):
        after['usage'] = add(before['usage'], node['usage'])
        of_role(node['role'], waits=lambda waits: 0 if kind == 'step' else waits + 1, usage=lambda sum: add(sum, node['usage']))
    if kind == 'step':
        number = after['steps'] = before['steps'] + 1
        again = add_all(one['usage'] for one in replaced)
        after['replaced'] = add(before['replaced'], again)
        of_role(node['role'], visits=lambda visits: visits + 1, first=lambda first: first or number, last=lambda _: number,
                replaced=lambda sum: add(sum, again))
        if 'workspace' in node: after['recorded'] = commit.id
        if node['compact'] is not None: after['compacted'] = {'commit': commit.id, 'number': number}
        if any(one['childThreads'] or 'leftUsage' in one for one in (node, *replaced)): after['calling'] = commit.id
        ways = itertools.zip_longest(range(1, 8), before['skips'])
        after['skips'] = [*filter(None, (commit.id if number % 4 ** power == 0 else old for power, old in ways))]
    for one in (node, *replaced) if kind in ('step', 'end') else ():
        own = [(one['role'], one['childUsage'])] if 'childUsage' in one else []
        for role, used in own + list(sorted(one.get('leftUsage', {}).items())):
            of_role(role, children=lambda sum: add(sum, used))
            after['children'] = add(after['children'], used)
    return after

# Commits and threads
class Commit:
    def __init__(self, reader, id):
        self.id, self.next = id, None
        head, _, self.message = reader.read(id, 'commit').decode().partition('\n\n')
        fields = [line.partition(' ')[::2] for line in head.split('\n')]
        self.parents = [value for name, value in fields if name == 'parent']
        self.nodes = reader.nodes_in(dict(fields)['tree'])
        (self.kind,) = (kind for kind in TEXTS if f'{kind}.json' in self.nodes)  # One of them, and only one
        self.hash, type, self.node = self.nodes[f'{self.kind}.json']
        same(f'the type of {self.kind}.json', type, TYPES[f'thread-{self.kind}'])
        link, path = TEXTS[self.kind]
        there = self.nodes.get(path)
        same(path, there and there.hash, self.node[link])
        self.text = there and there.payload['text']

    def check_trailers(self, agents):
        node, kind = self.node, self.kind
        status = {'end': node.get('outcome'), 'suspend': 'suspended', 'step': node.get('meta', {}).get('$status')}.get(kind)
        agent = 'agent' in node and next(one.payload['name'] for one in [*self.nodes.values(), *agents] if one.hash == node['agent'])
        wanted = [('Node', self.hash), ('Type', f'thread-{kind}'), ('Role', node.get('role')), ('Status', status), ('Agent', agent)]
        if kind == 'step':
            seconds = decimal.Decimal((node['completedAtMs'] - node['startedAtMs']) / 1000)
            wanted.append(('Tokens', node['usage'] and str(node['usage']['inputTokens'] + node['usage']['outputTokens'])))
            wanted.append(('Duration', f'{seconds.quantize(decimal.Decimal("0.1"), decimal.ROUND_HALF_UP)}s'))
        def one_line(text): return ' '.join(re.sub(r'[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]', '', text).replace('\ufeff', ' ').split())
        told = self.message.rstrip('\n').rpartition('\n\n')[2].split('\n')
        if kind == 'step' and told[-1].startswith('Uwf-Next: '): self.next = told.pop()[len('Uwf-Next: '):]
        same('the trailers', told, [f'Uwf-{name}: {one_line(value)}' for name, value in wanted if value and isinstance(value, str)])

class Reader:
    def __init__(self, folder):
        self.places = {}
        self.batch = subprocess.Popen(['git', '-C', folder, 'cat-file', '--batch'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.nodes_in = functools.lru_cache(4096)(self.nodes_in)
        self.node = functools.lru_cache(65536)(lambda hash, id: decode_node(hash, self.read(id, 'blob')))

    def read(self, id, wanted):
        self.batch.stdin.write(f'{id}\n'.encode())
        self.batch.stdin.flush()
        _, kind, *size = self.batch.stdout.readline().decode().split()
        data = self.batch.stdout.read(int(size[0]) + 1)[:-1] if size else b''
        digest = (hashlib.sha1 if len(id) == 40 else hashlib.sha256)(f'{kind} {len(data)}\0'.encode() + data).hexdigest()
        expect((kind, digest) == (wanted, id), 'the object', id, 'is missing, no', wanted, 'or has other bytes')
        return data

    def nodes_in(self, tree, is_root=True):
        """The nodes of a tree by path. Those of subtrees with an index of their own are checked, too, and left out."""
        blobs = {}
        def walk(tree, prefix):
            data = self.read(tree, 'tree')
            while data:
                entry, data = data.split(b'\0', 1)
                id, data = data[:len(tree) // 2].hex(), data[len(tree) // 2:]
                path = prefix + entry.decode().partition(' ')[2]
                if not entry.startswith(b'40000 '): blobs[path] = id
                elif is_root and re.fullmatch(r'workflow|children/[^/]+', path): self.nodes_in(id, False)
                elif path != 'pinned' or not is_root: walk(id, path + '/')
        walk(tree, '')
        lines = [line.split(' ', 2) for line in self.read(blobs.pop('index'), 'blob').decode().split('\n')]
        is_in_order = lines.pop() == [''] and lines == sorted(lines, key=lambda line: (line[0], line[2].encode()))
        expect(is_in_order, 'its index is cut off, or not in order')
        same('the index', [line[2:0:-1] for line in sorted(lines, key=lambda line: line[2])], [[*blob] for blob in sorted(blobs.items())])
        return {path: self.node(hash, id) for hash, id, path in lines}

    def verify(self, head):
        """Checks a commit and all before it, the ends that these took in, and the steps that they replaced."""
        chain, id = [], head
        try:
            while id not in self.places and not (chain and chain[-1].kind == 'start'):
                chain.append(Commit(self, id))
                id = chain[-1].parents[0] if chain[-1].kind != 'start' else id
            for id, commit in [(commit.id, commit) for commit in reversed(chain)]: self.places[id] = self.check(commit)
        except UNREADABLE as error: raise Wrong(f'commit {id}: {type(error).__name__} {error}')
        return self.places[head]

    def check(self, commit):
        node, kind, parents = commit.node, commit.kind, commit.parents
        before = None if kind == 'start' else self.places[parents[0]]
        start = before.start if before else commit
        commit.check_trailers([one for path, one in start.nodes.items() if path.startswith('agents/')])
        if kind == 'start': return Place(commit, commit, None, totals_after(commit, None, []))
        last, replaced = before.last, []
        same('start', node['start'], start.hash)
        for field in {**before.totals, **node['totals']}: same(f'totals.{field}', node['totals'].get(field), before.totals[field])
        if kind != 'resume': same('the step before', node['lastStep' if kind == 'end' else 'previous'], last and last.hash)
        if kind == 'resume': same('suspension', node['suspension'], (self.verify(parents[1]) if parents[1:] else before).commit.hash)
        if kind == 'step':
            same('number', node['number'], before.totals['steps'] + 1)
            same('ancestors', node['ancestors'], [last.hash, *last.node['ancestors']][:11] if last else [])
            ends = [self.verify(id).commit for id in parents[1:len(node['childThreads']) + 1]]
            same('childThreads', node['childThreads'], [end.hash for end in ends])
            for child in [self.places[end.id].start.node for end in ends]:
                same('caller', [child[f'parent{of}'] for of in ('Thread', 'State', 'Role')], [start.hash, (last or start).hash, node['role']])
            used = [add_all([*map(end.node['totals'].get, ('usage', 'replaced', 'children')), *dict(sorted(end.node.get('leftUsage', {}).items())).values()])
                    for end in ends]
            same('childUsage', node.get('childUsage'), add_all(used))
            by = commit
            while 'replaces' in by.node:
                replaces, by = by.node['replaces'], self.verify(by.parents[len(by.node['childThreads']) + 1]).commit
                same('replaces', replaces, by.hash)
                replaced.append(by.node)
        return Place(commit, start, commit if kind == 'step' else last, totals_after(commit, before.totals, replaced))

    def describe(self, thread, head):
        place, steps = self.verify(head), []
        top = commit = place.commit
        while commit.kind != 'start':
            if commit.kind == 'step':
                step = {'commit': commit.id, 'number': commit.node['number'], 'role': commit.node['role'], 'next': commit.next}
                steps.insert(0, {**step, 'status': commit.node['meta'].get('$status'), 'text': commit.text})
            commit = self.places[commit.parents[0]].commit
        status = {'suspend': 'suspended', 'end': top.node.get('outcome')}.get(top.kind, 'idle')
        return {'thread': thread, 'status': status, 'head': head, 'prompt': commit.text, 'steps': steps, 'totals': place.totals}

def main(folder):
    listed = ['git', '-C', folder, 'for-each-ref', '--format=%(refname:lstrip=-1) %(objectname)', 'refs/threads/', 'refs/history/']
    reader, wrong = Reader(folder), []
    # They are sorted by name. A thread that has both refs is ended.
    for thread, head in dict(line.split(' ') for line in reversed(subprocess.check_output(listed, text=True).splitlines())).items():
        try: print(json.dumps(reader.describe(thread, head)))
        except UNREADABLE as error: wrong.append(f'thread {thread}: {error}')
    sys.exit('\n'.join(wrong) or 0)

if __name__ == '__main__': main(*sys.argv[1:])
