"""Stands in for `paddle` where only `sys.path` is inherited: spawned worker processes.

`minipaddle.run_script` puts this folder on `sys.path`; multiprocessing hands that path to its
children, where `import paddle` then finds this file, which hands over to minipaddle.
"""
from minipaddle.run_script import install

install()
