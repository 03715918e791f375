"""python -m tgc: the program tgc"""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tgc")
    if not os.access(program, os.X_OK):
        os.chmod(program, 0o755)  # installers may drop the mode
    os.execv(program, ["tgc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
